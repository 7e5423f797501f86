"""Reads what a vendor's answer tells of rate limits; nothing that it holds makes it raise."""

from gateway.admission.limits.delays import delay_in, retry_after
from gateway.admission.limits.learned import Learned, learned
from gateway.admission.limits.reader import read
from gateway.admission.limits.rows import Vendor
from gateway.admission.limits.vendors import VENDORS, vendor_of

__all__ = [
    "VENDORS",
    "Learned",
    "Vendor",
    "delay_in",
    "learned",
    "read",
    "retry_after",
    "vendor_of",
]
