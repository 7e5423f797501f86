"""Reliability techniques, and the language they are written in.

``core`` is that language: requests, events, channels. ``parts`` are the pure pieces that
techniques share, ``engines`` the algorithms, ``catalog`` the names a client can ask for.
Nothing here opens a socket, reads a clock or rolls unseeded dice.
"""
