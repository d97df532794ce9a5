#!/usr/bin/env python3
"""Fills a root with conversations, quickly.

    talk.py ROOT MESSAGES

Each session of ROOT gets its part of MESSAGES, of two agents in turn, in queries of 40. Words follow
Zipf's law, as in any language; a message has 20 of them on average. "kestrel", "obsidian" and
"marmalade" are in one message of 5,000 each.
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from memory import Memory  # noqa: E402

SELECTIVE = ("kestrel", "obsidian", "marmalade")
RARITY = 5000
WORDS = 30000
QUERY = 40


def make_words():
    parts = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "ar", "el", "on")]
    seen = {}
    chance = random.Random(1)
    while len(seen) < WORDS:
        seen["".join(chance.choices(parts, k=chance.randint(2, 4)))] = None
    return list(seen)


def fill(workspace, count, number, words, weights):
    chance = random.Random(number)
    memory = Memory(workspace)
    at = 1700000000 + number * 3600
    lengths = [chance.randint(5, 35) for _ in range(count)]
    stock = chance.choices(words, cum_weights=weights, k=sum(lengths))
    taken = 0
    for i in range(count):
        agent = ("00", "10")[i // 2 % 2]
        if i > 0 and i % (2 * QUERY) < 4 and i % 2 == 0 and i // (2 * QUERY) > 0:
            memory.clear(agent, at * 1000)
        at += 60
        text = stock[taken:taken + lengths[i]]
        taken += lengths[i]
        for word in SELECTIVE:
            if chance.random() * RARITY < 1:
                text.append(word)
        memory.add(memory.query(agent, at * 1000), agent, ("user", "agent")[i % 2], " ".join(text),
                   at * 1000)
    memory.close()


def main():
    root, total = sys.argv[1], int(sys.argv[2])
    sessions = os.path.join(root, "sessions")
    workspaces = sorted(name for name in os.listdir(sessions) if not name.startswith("."))
    words = make_words()
    weights, weight = [], 0
    for rank in range(len(words)):
        weight += 1 / (rank + 2.7)
        weights.append(weight)
    for number, name in enumerate(workspaces):
        count = total // len(workspaces)
        fill(os.path.join(sessions, name), count, number, words, weights)
    print(" ".join(words[rank] for rank in (5, 20, 60, 150, 400, 900, 2000, 5000, 9000, 20000)))


if __name__ == "__main__":
    main()
