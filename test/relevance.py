#!/usr/bin/env python3
"""How often a search finds what a question is about, with made-up conversations.

    relevance.py MAS ROOT

Ten conversations of 12 sittings each, on subjects that come back; in each sitting somebody asks for
something and is told. A question is asked with a word of the subject, a word of what was asked, and
sometimes one of the answer, among words that mean nothing; it is answered where the answer is among
the first ten messages. Prints that share in percent for the search, and for BM25 of the messages
alone, stop words and all.
"""
import json
import os
import random
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory import Memory  # noqa: E402

STOPS = "the a of to and in is it you that was for on are with as i his they at be this".split()
CHANCE = random.Random(5)


def word():
    return "".join(CHANCE.choice("bdfgklmnprstvz") + CHANCE.choice("aeiou") for _ in range(CHANCE.randint(2, 4)))


PLAIN = [word() for _ in range(1500)]
WEIGHTS = [1 / (rank + 3) for rank in range(len(PLAIN))]
SUBJECTS = [[word() for _ in range(12)] for _ in range(40)]
THINGS = [word() for _ in range(400)]


def talk(count):
    return [CHANCE.choice(STOPS) if CHANCE.random() < 0.4 else CHANCE.choices(PLAIN, WEIGHTS)[0] for _ in range(count)]


def sitting(memory, query, at, questions, session):
    subject = CHANCE.choice(SUBJECTS)
    place = CHANCE.randint(2, 16)
    thing, other = CHANCE.choice(THINGS), CHANCE.choice(THINGS)
    for turn in range(20):
        at += 60
        text = talk(CHANCE.randint(5, 20))
        if CHANCE.random() < 0.4:
            text.append(CHANCE.choice(subject))
        if turn == place:
            text.append(thing)
        if turn == place + 1:
            text.append(other)
        CHANCE.shuffle(text)
        number = memory.add(query, "00", ("user", "agent")[turn % 2], " ".join(text), at * 1000)
        if turn == place + 1:
            answer = f"{session}:{number}"
    asked = [CHANCE.choice(subject), CHANCE.choice(subject), thing] + talk(6)
    if CHANCE.random() < 0.4:
        asked.append(other)
    CHANCE.shuffle(asked)
    questions.append((" ".join(asked), answer))


def fill(root):
    questions = []
    sessions = os.path.join(root, "sessions")
    for name in sorted(entry for entry in os.listdir(sessions) if not entry.startswith(".")):
        memory = Memory(os.path.join(sessions, name))
        at = 1700000000
        query = memory.query("00", at * 1000)
        for _ in range(12):
            at += 86400
            sitting(memory, query, at, questions, name)
        memory.close()
    return questions


def messages(path):
    """The messages of the index, whose own tokenizer only mas has, in one of SQLite's."""
    index = sqlite3.connect(path)
    index.execute("CREATE VIRTUAL TABLE temp.word USING fts5(id UNINDEXED, text, tokenize = 'porter unicode61')")
    index.execute("INSERT INTO temp.word SELECT s.uuid || ':' || m.number, m.text FROM message m"
                  " JOIN session s ON s.id = m.session ORDER BY m.id")
    return index


def plain(index, question):
    match = " OR ".join(f'"{w}"' for w in dict.fromkeys(question.split()))
    rows = index.execute("SELECT id FROM word WHERE text MATCH ? ORDER BY bm25(word) LIMIT 10", (match,))
    return [row[0] for row in rows]


def main():
    mas, root = sys.argv[1:]
    questions = fill(root)
    ours = alone = 0
    index = None
    for question, answer in questions:
        found = subprocess.run([mas, "--root", root, "search", "--json", "--", question], check=True,
                               stdout=subprocess.PIPE).stdout
        ours += answer in [message["id"] for message in json.loads(found)["messages"]]
        index = index or messages(os.path.join(root, "sessions", ".memory.index"))
        alone += answer in plain(index, question)
    print(100 * ours // len(questions), 100 * alone // len(questions))


if __name__ == "__main__":
    main()
