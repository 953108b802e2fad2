// Starts `cepheid lsp` and lets the editor talk to it.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function activate() {
  const [command, ...args] = vscode.workspace.getConfiguration("cepheid").get("command");
  client = new LanguageClient(
    "cepheid",
    "Cepheid",
    { command, args },
    { documentSelector: [{ language: "cepheid" }] },
  );
  return client.start();
}

function deactivate() {
  return client ? client.stop() : undefined;
}

module.exports = { activate, deactivate };
