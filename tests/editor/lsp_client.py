"""A small client: a real `cepheid lsp` in a process of its own, spoken to over its standard input and output."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import cepheid

TIMEOUT = 60


class Client:
    def __init__(self) -> None:
        package = Path(cepheid.__file__).parent.parent
        self.process = subprocess.Popen(
            [sys.executable, "-m", "cepheid", "lsp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(package)},
        )
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self._last = 0
        self.notifications: list[dict[str, Any]] = []
        params = {"processId": None, "rootUri": None, "capabilities": {}}
        self.capabilities = self.request("initialize", params)["capabilities"]
        self.notify("initialized", {})

    # Messages.

    def request(self, method: str, params: Any) -> Any:
        self._last += 1
        self._send({"id": self._last, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == self._last:
                assert "error" not in message, message["error"]
                return message["result"]
            self.notifications.append(message)

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def wait_for(self, method: str) -> dict[str, Any]:
        """The next notification of a kind."""
        while True:
            for i, message in enumerate(self.notifications):
                if message.get("method") == method:
                    return self.notifications.pop(i)["params"]
            self.notifications.append(self._receive())

    def close(self) -> int:
        self.request("shutdown", None)
        self.notify("exit", None)
        return self.process.wait(TIMEOUT)

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        message = self._messages.get(timeout=TIMEOUT)
        assert message is not None, "the server went away"
        return message

    def _listen(self) -> None:
        stdout = self.process.stdout
        assert stdout is not None
        while line := stdout.readline():
            length = int(line.split(b":")[1])
            while stdout.readline().strip():
                pass
            self._messages.put(json.loads(stdout.read(length)))
        self._messages.put(None)

    # Documents.

    def open(self, text: str, uri: str = "file:///rules.cep") -> list[dict[str, Any]]:
        """Opens a document; what is wrong with it."""
        document = {"uri": uri, "languageId": "cepheid", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return self._diagnostics(uri)

    def change(self, text: str, version: int, uri: str = "file:///rules.cep") -> list[dict[str, Any]]:
        params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]}
        self.notify("textDocument/didChange", params)
        return self._diagnostics(uri)

    def ask(self, method: str, line: int, character: int, uri: str = "file:///rules.cep") -> Any:
        position = {"line": line, "character": character}
        return self.request(f"textDocument/{method}", {"textDocument": {"uri": uri}, "position": position})

    def _diagnostics(self, uri: str) -> list[dict[str, Any]]:
        params = self.wait_for("textDocument/publishDiagnostics")
        assert params["uri"] == uri
        return params["diagnostics"]
