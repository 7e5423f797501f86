"""The program that tries an answer's program with tests: two processes, of which one counts.

The inner one runs the answer's program and then the tests. It knows neither the tests nor the word
that its result must begin with until the program has run, has no output but one that is nobody
else's, and keeps nothing in ``__main__``. The outer one runs nothing of the answer's, and only it
knows the token.

So a program does not pass by what it writes, by its way of ending, or by what it finds in, or puts
into, the modules that it can name. That does not make a judge of one who means to deceive: tests
share a process with what they test. ``assert f(1) == 2`` believes an object that is equal to all
things, standard modules and built-in functions can be replaced, and who goes through frames, open
files and memory finds the results themselves.
"""

from __future__ import annotations

from typing import Final

_INNER: Final = """\
def main():
    import ast, doctest, json, os, sys, types

    given, told = (os.fdopen(os.dup(old), mode) for old, mode in ((0, "r"), (1, "w")))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0), os.dup2(null, 1), os.close(null)
    module = types.ModuleType("solution")
    sys.modules["solution"] = sys.modules["__main__"] = module
    names = vars(module)
    failed = []
    results = []

    def passes(what, act, *given):
        try:
            act(*given)
        except BaseException as error:
            failed.append(f"{what}: {type(error).__name__} {error}")
            return False
        return True

    def execute(code):
        exec(compile(code, "solution.py", "exec"), names)

    def tell(*what):
        told.write(json.dumps(what) + "\\n")
        told.flush()

    for piece in json.loads(given.readline()):
        passes("the program", execute, piece)
    tell()
    statements, examples = json.loads(given.readline())
    before = dict(names)
    preparing = ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef
    for statement in ast.parse(statements).body:
        passed = passes(ast.unparse(statement), execute, ast.Module([statement], []))
        if not (passed and isinstance(statement, preparing)):
            results.append(passed)
    results += [
        passes(name, test)
        for name, test in list(names.items())
        if name.startswith("test") and callable(test) and test is not before.get(name)
    ]
    examples = doctest.DocTestParser().get_doctest(examples, names, "examples", None, 0)
    result = doctest.DocTestRunner(verbose=False).run(examples)
    results += [True] * (result.attempted - result.failed) + [False] * result.failed
    failed += ["an example gives something else"] * result.failed
    lines = [" ".join(line.split())[:300] for line in failed[:5]]
    tell()
    tell(json.loads(given.readline()), sum(results), len(results), lines)
    os._exit(0)


main()
"""

_OUTER: Final = """\
import json
import os
import signal
import subprocess
import sys

PROGRAM, STATEMENTS, EXAMPLES, TOKEN = {values!r}
INNER = {inner!r}


def answer(what):
    inner.stdin.write(json.dumps(what).encode() + b"\\n")
    inner.stdin.flush()
    return json.loads(inner.stdout.readline())


word = os.urandom(8).hex()
lines, passed, tried = ["It ended before its tests did."], 0, 0
inner = subprocess.Popen(
    [sys.executable, "-I", "-B", "-c", INNER],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,
)
try:
    if answer(PROGRAM) == answer([STATEMENTS, EXAMPLES]) == []:
        said, *told = answer(word)
        if said == word:
            passed, tried, lines = told
except (OSError, ValueError):
    pass
inner.kill()
if inner.wait() == -signal.SIGXCPU:
    os.kill(os.getpid(), signal.SIGXCPU)
inner.stdout.close()
try:
    inner.stdin.close()
except OSError:
    pass
print(*lines, sep="\\n")
print(TOKEN, passed, tried)
"""


def harness(program: tuple[str, ...], statements: str, examples: str, token: str) -> str:
    """Return the program that tries *statements* and *examples* on the pieces of *program*."""
    return _OUTER.format(values=(program, statements, examples, token), inner=_INNER)
