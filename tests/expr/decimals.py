#!/usr/bin/python3
"""decimals.py PROGRAM [SEED]: 10,000 random expressions of decimals against Python's decimal arithmetic, byte for byte.

PROGRAM is expr_lines. Half of the numbers stand in the expression, half are read from JSON. A result with too many digits must be
refused, and only such a result.
"""

import decimal
import json
import random
import subprocess
import sys

COUNT = 10000
READ_DIGITS, DIGITS = 34, 38  # as expr/decimal.h has them
decimal.setcontext(decimal.Context(prec=400, Emax=100000, Emin=-100000, traps=[decimal.Inexact, decimal.InvalidOperation]))


class TooLong(Exception):
    pass


def bounded(number):
    """The number, as the project keeps it: no exponent above 0, and no sign of zero."""
    if number == 0:
        number = abs(number)
    if number.as_tuple().exponent > 0:
        number = number.quantize(decimal.Decimal(1))
    if abs(int(number.scaleb(places(number)))) >= 10 ** DIGITS or places(number) > DIGITS:
        raise TooLong
    return number


def places(number):
    return -number.as_tuple().exponent


def rounded(number, count):
    with decimal.localcontext() as context:
        context.traps[decimal.Inexact] = False
        return number.quantize(decimal.Decimal(1).scaleb(-count), rounding=decimal.ROUND_HALF_UP)


def divided(left, right, count):
    with decimal.localcontext() as context:
        context.traps[decimal.Inexact] = False
        # Twice rounded would be wrong: the quotient of whole numbers, with the sign apart, is exact up to its rest.
        scale = 10 ** count
        top = abs(int(left.scaleb(max(places(left), places(right)))) * scale)
        bottom = abs(int(right.scaleb(max(places(left), places(right)))))
        whole, rest = divmod(top, bottom)
        whole += 2 * rest >= bottom
        return decimal.Decimal(-whole if (left < 0) != (right < 0) else whole).scaleb(-count)


class Case:
    """One random expression, as text and as Python computes it."""

    def __init__(self, chance):
        self.chance, self.values, self.text, self.tree = chance, {}, "", None
        while not self.text or len(self.text) > 1000:  # longer ones are refused as texts
            self.values = {}
            self.text, self.tree = self.grow(chance.randint(0, 4))

    def number(self):
        chance = self.chance
        digits = chance.choice((1, 2, 3, 5, 8, 15, 20, 30, 34))
        text = str(chance.randrange(10 ** digits))
        point = chance.randint(0, len(text)) if chance.random() < 0.7 else len(text)
        text = text[:point].lstrip("0") or "0" if point == len(text) else (text[:point].lstrip("0") or "0") + "." + text[point:]
        if chance.random() < 0.1 and len(text) < 8:
            text += chance.choice(("e3", "E-3", "e+2", "e0"))
        return text

    def grow(self, depth):
        chance = self.chance
        if depth == 0:
            text = self.number()
            value = decimal.Decimal(text)
            if chance.random() < 0.5 and ("." in text or "e" in text.lower() or len(text) < 19):
                if chance.random() < 0.3:
                    text, value = "-" + text, -value
                name = f"n{len(self.values)}"
                self.values[name] = text
                return f"v.{name}", ("leaf", value)
            return text, ("leaf", value)
        kind = chance.choice("++--**rrdns")
        left, left_tree = self.grow(depth - 1)
        if kind == "n":
            return f"(-{left})", ("n", left_tree)
        if kind == "r":
            count = chance.choice((0, 1, 2, 2, 2, 5, 10, 34))
            return f"round({left}, {count})", ("r", left_tree, count)
        right, right_tree = self.grow(chance.randint(0, depth - 1))
        if kind == "d":
            count = chance.choice((0, 1, 2, 2, 5, 20, 34))
            return f"divide({left}, {right}, {count})", ("d", left_tree, right_tree, count)
        if kind == "s":
            return f"(({left} < {right} ? {left} : {right}) - 0)", ("s", left_tree, right_tree)  # else the bytes stay
        return f"({left} {kind} {right})", (kind, left_tree, right_tree)

    def compute(self, tree):
        kind = tree[0]
        if kind == "leaf":
            return bounded(tree[1])
        left = self.compute(tree[1])
        if kind == "n":
            return bounded(-left)
        if kind == "r":
            return bounded(rounded(left, tree[2]))
        right = self.compute(tree[2])
        if kind == "d":
            if right == 0:
                raise ZeroDivisionError
            return bounded(divided(left, right, tree[3]))
        if kind == "s":
            return left if left < right else right
        return bounded({"+": left + right, "-": left - right, "*": left * right}[kind])

    def expected(self):
        """The result's digits, or the word by which its refusal is known."""
        try:
            return format(self.compute(self.tree), "f")
        except TooLong:
            return "more than 38 digits"
        except ZeroDivisionError:
            return "a division by zero"

    def line(self):
        members = ", ".join(f'"{name}": {text}' for name, text in self.values.items())
        return f'{{"expr": {json.dumps(self.text)}, "roots": {{"v": {{{members}}}}}}}'


def main(program, seed):
    chance = random.Random(seed)
    cases = [Case(chance) for _ in range(COUNT)]
    done = subprocess.run([program], input="\n".join(case.line() for case in cases) + "\n", capture_output=True, text=True,
                          check=True, timeout=100)
    answers = done.stdout.splitlines()
    assert len(answers) == COUNT
    wrong, refused, seen = 0, 0, set()
    for case, answer in zip(cases, answers):
        expected = case.expected()
        # The text of the line is compared, not a number that Python has read from it.
        is_right = f'"{expected}"' in answer.split('"text":', 1)[-1] if "error" not in answer else expected in answer
        if case.text.startswith("v.") and "error" not in answer:  # a value that nothing was done to keeps its bytes
            is_right = case.values[case.text[2:]] in answer
        refused += "error" in answer
        seen.add(answer)
        if not is_right:
            wrong += 1
            if wrong <= 10:
                print(f"{case.line()}\n  expected {expected}\n  answered {answer}")
    print(f"{COUNT} expressions, seed {seed}: {COUNT - wrong} equal, {refused} of them refused, {len(seen)} different answers")
    # Cases that are all refused, or all the same, would show nothing.
    return 1 if wrong or refused > COUNT // 2 or len(seen) < COUNT // 2 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1))
