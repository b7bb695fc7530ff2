"""A program on a terminal: the screen, the keys of a person, and a check that the terminal is restored.

The reader implements the sequences that ncurses writes to a terminal of the type xterm, and fails on any other.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

SEQUENCE = re.compile(r"\x1b(?:\[([?>]?)([\d;]*)([@-~])|([()][A-Z0-9])|([=>M]))")
OPENS, LEAVES = "\x1b[?1049h", "\x1b[?1049l"  # enters the alternate screen, and leaves it


class Screen:
    """The cells of a terminal and where the next character goes."""

    def __init__(self, width, height):
        self.width, self.height, self.row, self.column = width, height, 0, 0
        self.cells = [[" "] * width for _ in range(height)]
        self.rest, self.last = "", " "
        self.top, self.end = 0, height  # of the region that scrolls

    def resize(self, width, height):
        self.cells = [(row + [" "] * width)[:width] for row in self.cells[:height]]
        self.cells += [[" "] * width for _ in range(height - len(self.cells))]
        self.width, self.height, self.top, self.end = width, height, 0, height

    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    def put(self, character):
        if self.column < self.width and self.row < self.height:
            self.cells[self.row][self.column] = character
        self.column, self.last = self.column + 1, character

    def erase(self, begin, end):
        """Cells of the whole screen, counted row by row."""
        for place in range(max(begin, 0), min(end, self.width * self.height)):
            self.cells[place // self.width][place % self.width] = " "

    def scroll(self, first, end, count):
        """Moves rows up by count, or down if it is below 0; the freed rows are empty."""
        kept, empty = self.cells[first:end], [[" "] * self.width for _ in range(min(abs(count), end - first))]
        self.cells[first:end] = kept[len(empty):] + empty if count > 0 else empty + kept[:len(kept) - len(empty)]

    def feed_line(self, is_back):
        if not is_back and self.row == self.end - 1:
            self.scroll(self.top, self.end, 1)
        elif is_back and self.row == self.top:
            self.scroll(self.top, self.end, -1)
        else:
            self.row += -1 if is_back else 1

    def obey(self, mark, numbers, verb):
        first = numbers[0] if numbers else 0
        here, count, row = self.row * self.width + self.column, first or 1, self.row * self.width
        line = self.cells[self.row] if self.row < self.height else []
        if verb in "Hf":
            self.row, self.column = count - 1, (numbers[1] if len(numbers) > 1 else 1) - 1
        elif verb in "ABCD":
            self.row += {"A": -count, "B": count}.get(verb, 0)
            self.column += {"C": count, "D": -count}.get(verb, 0)
        elif verb == "G":
            self.column = count - 1
        elif verb == "d":
            self.row = count - 1
        elif verb == "J":
            self.erase(*[(here, self.width * self.height), (0, here + 1), (0, self.width * self.height)][first])
        elif verb == "K":
            self.erase(*[(here, row + self.width), (row, here + 1), (row, row + self.width)][first])
        elif verb == "X":
            self.erase(here, min(here + count, row + self.width))
        elif verb == "P":
            line[self.column:] = line[self.column + count:] + [" "] * min(count, self.width - self.column)
        elif verb == "@":
            line[self.column:] = ([" "] * count + line[self.column:])[:self.width - self.column]
        elif verb == "b":
            for _ in range(count):
                self.put(self.last)
        elif verb in "ST":
            self.scroll(self.top, self.end, count if verb == "S" else -count)
        elif verb in "LM":
            self.scroll(self.row, self.end, count if verb == "M" else -count)
        elif verb == "r":
            self.top, self.end = (numbers[0] - 1, numbers[1]) if len(numbers) > 1 else (0, self.height)
            self.row = self.column = 0
        elif mark or verb in "mhlt":
            pass  # attributes only, no text
        else:
            raise AssertionError(f"the reader does not know the sequence {numbers}{verb}")

    def feed(self, text):
        text = self.rest + text
        self.rest = ""
        while text:
            found = SEQUENCE.match(text)
            if found:
                if found.group(3):
                    self.obey(found.group(1), [int(word or 0) for word in found.group(2).split(";") if found.group(2)], found.group(3))
                elif found.group(5) == "M":
                    self.feed_line(is_back=True)
                text = text[found.end():]
            elif text[0] == "\x1b":
                assert len(text) < 32, f"the reader does not know {text[:32]!r}"
                self.rest = text  # the rest of it comes later
                return
            else:
                if text[0] == "\n":
                    self.feed_line(is_back=False)
                elif text[0] in "\r\b":
                    self.column = 0 if text[0] == "\r" else self.column - 1
                elif text[0] >= " ":
                    self.put(text[0])
                text = text[1:]


class Terminal:
    """A program on a terminal of its own. `env` is its whole environment."""

    def __init__(self, argv, env, width=80, height=24):
        self.master, self.line = pty.openpty()  # the line stays open here, so that its settings can be read afterwards
        self.screen, self.seen = Screen(width, height), ""
        self.resize(width, height, tell=False)
        self.before = termios.tcgetattr(self.line)
        self.bytes = b""
        self.popen = subprocess.Popen([str(word) for word in argv], stdin=self.line, stdout=self.line, stderr=self.line,
                                      env={**env, "TERM": "xterm", "LC_ALL": "C.UTF-8"}, start_new_session=True,
                                      preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def resize(self, width, height, tell=True):
        fcntl.ioctl(self.line, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.screen.resize(width, height)
        if tell:
            os.kill(self.popen.pid, signal.SIGWINCH)  # the line's own only reaches a group in the foreground

    def press(self, keys):
        os.write(self.master, keys.encode())

    def read(self, wait_s):
        """Reads the available output; True if there was any."""
        if not select.select([self.master], [], [], wait_s)[0]:
            return False
        self.bytes += os.read(self.master, 65536)
        text = self.bytes.decode(errors="ignore") if self.popen.poll() is not None else whole(self.bytes)
        self.bytes = self.bytes[len(text.encode()):]
        self.seen += text
        self.screen.feed(text)
        return True

    def wait(self, condition, what, timeout_s=45.0):
        """Until condition(lines) holds; fails with the last screen."""
        deadline = time.monotonic() + timeout_s
        while not condition(self.screen.lines()):
            if self.popen.poll() is not None and not self.read(0):
                raise AssertionError(f"it ended with {self.popen.returncode} while waiting until {what}:\n{self}")
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {timeout_s:g} s in vain until {what}:\n{self}")
            self.read(0.1)

    def end(self):
        """Waits for its end and returns its exit code; the terminal must be as it was."""
        deadline = time.monotonic() + 30
        while self.popen.poll() is None:
            assert time.monotonic() < deadline, f"it does not end:\n{self}"
            self.read(0.1)
        while self.read(0):
            pass
        after = termios.tcgetattr(self.line)
        assert after == self.before, f"the terminal's settings were {self.before}, and are {after}; exit code {self.popen.returncode}"
        assert not fcntl.fcntl(self.line, fcntl.F_GETFL) & os.O_NONBLOCK, "who reads the terminal next does not wait"
        assert self.seen.count(OPENS) == self.seen.count(LEAVES) > 0, "the screen of its own is still there"
        assert self.seen.rindex("\x1b[?25h") > self.seen.rindex("\x1b[?25l"), "the cursor is hidden"
        return self.popen.returncode

    def close(self):
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()
        os.close(self.master)
        os.close(self.line)

    def __str__(self):
        return "\n".join(f"|{line}" for line in self.screen.lines())


def whole(data):
    """The text up to a character that is still incomplete."""
    for cut in range(4):
        try:
            return data[:len(data) - cut].decode()
        except UnicodeDecodeError:
            pass
    return data.decode(errors="replace")
