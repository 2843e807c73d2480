#!/usr/bin/env python3
"""That each instruction which the compiler takes is run by some test against a reference.

  tested.py SOURCE-DIRECTORY coverage_forms coverage_tested

coverage_forms --list says which instructions are taken, with their types, and coverage_tested which of
them the case table and the kernels of forms have. The rest must be in elsewhere.txt: lines of a
pattern (as of a shell) and the file of the test that has such instructions."""
import fnmatch
import os
import subprocess
import sys


def lines(program, *arguments):
    out = subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout
    return set(out.split('\n')) - {''}


def main():
    source, forms, tested = sys.argv[1:4]
    directory = os.path.dirname(os.path.abspath(__file__))
    taken = lines(forms, '--list')
    missing = sorted(taken - lines(tested))
    wrong = 0
    for number, line in enumerate(open(os.path.join(directory, 'elsewhere.txt')), 1):
        words = line.split('#')[0].split()
        if not words:
            continue
        pattern, test = words[0], words[1]
        if not os.path.exists(os.path.join(source, test)):
            print(f'elsewhere.txt:{number}: there is no {test}')
            wrong += 1
        rest = [m for m in missing if not fnmatch.fnmatch(m, pattern)]
        if len(rest) == len(missing):
            print(f'elsewhere.txt:{number}: {pattern} is nothing that is missing')
            wrong += 1
        missing = rest
    for m in missing:
        print(f'{m} is in no test')
    print(f'{len(taken)} instructions, {len(missing)} in no test')
    return 1 if missing or wrong else 0


sys.exit(main())
