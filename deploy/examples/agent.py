"""An agent that may be cut off, suspended or killed at any moment, and is just started again.

    python agent.py http://127.0.0.1:8080/v1 KEY gpt-5-mini "budget 2027" 12 30 7 25

Each of its steps has a name that is the same at the next start. The gateway answers steps that were
settled from its journal, at once and for nothing, and goes on with the one that was not.
"""

import re
import sys

from openai import OpenAI


def main(base_url: str, key: str, model: str, task: str, *numbers: str) -> None:
    """Add *numbers* up, one a step, each time with what the model has said before."""
    client = OpenAI(base_url=base_url, api_key=key, max_retries=10)
    total, turns = "0", []
    for step, number in enumerate(numbers):
        turns.append({"role": "user", "content": f"What is {total} + {number}?"})
        answer = client.chat.completions.create(
            model=model,
            messages=turns,
            extra_headers={"Idempotency-Key": f"{task}/{step}", "x-lockgate-on-limit": "suspend"},
        )
        said = answer.choices[0].message.content or ""
        turns.append({"role": "assistant", "content": said})
        total = re.findall(r"\d+", said)[-1]
    sys.stdout.write(f"{total}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
