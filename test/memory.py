#!/usr/bin/env python3
"""Writes conversations into the memory.db of workspaces, as hosts do, without hosts.

    memory.py WORKSPACE < LINES

A line is JSON: {"role", "text"} and, where it is not as in the line before, "agent", "at" (a time in
seconds; else a second after the line before), "tags" (a list), "state" (done), "trigger" (the newest
prompt of the agent where the role is not user). {"clear": AGENT} ends the agent's query and begins
another, {"new": AGENT} a conversation. It prints the number of each message. The schema is that of
src/memory/store_schema.c.
"""
import json
import os
import re
import sqlite3
import sys
import time
import uuid

ROLES = ["user", "agent", "thought", "tool", "plan", "permission", "mode", "note"]
STATES = ["open", "done", "interrupted", "failed"]
HERE = os.path.dirname(os.path.abspath(__file__))


def schema():
    with open(os.path.join(HERE, "..", "src", "memory", "store_schema.c"), encoding="utf-8") as source:
        text = source.read()
    application = int(re.search(r"APPLICATION_ID (0x[0-9a-f]+)", text).group(1), 16)
    version = int(re.search(r"VERSION (\d+)", text).group(1))
    tables = re.sub(r"/\*.*?\*/", "", text[text.index(" steps[] = {"):], flags=re.S)
    return application, version, "".join(re.findall(r"\"([^\"]*)\"", tables[:tables.index("\n};")]))


class Memory:
    """One memory.db."""

    def __init__(self, workspace):
        path = os.path.join(workspace, "memory.db")
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = OFF")
        application, version, tables = schema()
        self.db.execute("BEGIN IMMEDIATE")
        if self.db.execute("PRAGMA user_version").fetchone()[0] == 0:
            for statement in tables.split(";"):
                self.db.execute(statement)
        self.db.execute(f"PRAGMA application_id = {application}")
        self.db.execute(f"PRAGMA user_version = {version}")
        self.prompts = {}

    def close(self):
        self.db.execute("COMMIT")
        self.db.close()

    def begin_query(self, conversation, at):
        number = self.db.execute("SELECT count(*) + 1 FROM query WHERE conversation = ?",
                                 (conversation,)).fetchone()[0]
        return self.db.execute("INSERT INTO query (conversation, number, started) VALUES (?, ?, ?)",
                               (conversation, number, at)).lastrowid

    def new(self, agent, at):
        self.db.execute("UPDATE conversation SET current = 0 WHERE agent = ?", (agent,))
        conversation = self.db.execute(
            "INSERT INTO conversation (uuid, agent, current, started) VALUES (?, ?, 1, ?)",
            (str(uuid.uuid4()), agent, at)).lastrowid
        return self.begin_query(conversation, at)

    def query(self, agent, at):
        row = self.db.execute("SELECT q.id FROM query q JOIN conversation c ON c.id = q.conversation"
                              " WHERE c.agent = ? AND c.current = 1 AND q.ended = 0",
                              (agent,)).fetchone()
        return row[0] if row else self.new(agent, at)

    def clear(self, agent, at):
        query = self.query(agent, at)
        self.db.execute("UPDATE query SET ended = ?, reason = 'clear' WHERE id = ?", (at, query))
        conversation = self.db.execute("SELECT conversation FROM query WHERE id = ?",
                                       (query,)).fetchone()[0]
        self.begin_query(conversation, at)

    def add(self, query, agent, role, text, at, tags=(), state="done", trigger=None):
        if role == "user":
            trigger = 0
        elif trigger is None:
            trigger = self.prompts.get(agent, 0)
        number = self.db.execute(
            "INSERT INTO message (query, agent, role, state, time, trigger, tags, text)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (query, agent, ROLES.index(role), STATES.index(state), at, trigger,
             json.dumps(list(tags), separators=(",", ":")) if tags else "", text)).lastrowid
        if role == "user":
            self.prompts[agent] = number
        return number


def main():
    memory = Memory(sys.argv[1])
    agent, at = "00", int(time.time()) - 3600
    for line in sys.stdin:
        entry = json.loads(line)
        agent = entry.get("agent", agent)
        at = entry.get("at", at + 1)
        if "clear" in entry:
            memory.clear(entry["clear"], at * 1000)
        elif "new" in entry:
            memory.new(entry["new"], at * 1000)
        else:
            print(memory.add(memory.query(agent, at * 1000), agent, entry["role"], entry["text"],
                             at * 1000, entry.get("tags", ()), entry.get("state", "done"),
                             entry.get("trigger")))
    memory.close()


if __name__ == "__main__":
    main()
