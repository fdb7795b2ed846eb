import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { greeting, nextSteps, type Served } from "./greeting.ts";
import { paintFor } from "#kernel/command/index.node.ts";

const served: Served = {
  version: "1.2.3",
  url: "https://127.0.0.1:6443",
  listening: [{ address: "127.0.0.1", port: 6443, from: "this-machine", urls: ["https://127.0.0.1:6443"] }],
  ports: [],
  directory: "/home/anna/.slipway",
  kubeconfig: "/home/anna/.slipway/kubeconfig",
  runtime: "as host processes",
  pid: 42,
  isFound: true,
};
const plain = paintFor(false);

test("the greeting tells address, places and where steps run", () => {
  expect(greeting(served, plain)).toBe(`Slipway 1.2.3 is ready at https://127.0.0.1:6443
  data        /home/anna/.slipway
  kubeconfig  /home/anna/.slipway/kubeconfig
  steps run   as host processes
`);
});

test("where dialects are spoken to is told", () => {
  const ports = [{ serves: "agents of Tinkerbell", address: "127.0.0.1:42113" }];
  expect(greeting({ ...served, ports }, plain)).toContain(
    "\n  reachable   for agents of Tinkerbell at 127.0.0.1:42113\n",
  );
});

test("who else can reach it is told, and what keeps them out", () => {
  const urls = ["https://192.0.2.7:6443", "https://build.example:6443"];
  const outer = { address: "0.0.0.0", port: 6443, from: "other-machines", urls } as const;
  const second = { address: "::1", port: 7, from: "this-machine", urls: ["https://[::1]:7"] } as const;
  const lines = (...listening: Served["listening"]) =>
    greeting({ ...served, listening }, plain).match(/^ {2}reachable .*$/gm);
  const expected =
    "  reachable   from other machines at https://192.0.2.7:6443, https://build.example:6443; every request but health and version needs a credential";
  expect(lines(...served.listening)).toBeNull();
  expect(lines(outer)).toEqual([expected]);
  expect(lines(...served.listening, outer, second)).toEqual([
    expected,
    "  reachable   from this machine also at https://[::1]:7",
  ]);
});

test("only a control plane that is not looked for by itself has to be named", () => {
  expect(nextSteps(served, plain)).toContain("  slipway run FILE");
  expect(nextSteps({ ...served, isFound: false }, plain)).toContain(
    "  slipway --kubeconfig /home/anna/.slipway/kubeconfig run FILE",
  );
});

test.each(["/tmp/a b/kubeconfig", "/tmp/it's $HOME/`x`"])("the shell reads %s as it is", (kubeconfig) => {
  const line = nextSteps({ ...served, kubeconfig }, plain).match(/export KUBECONFIG=.*/)?.[0] ?? "";
  expect(execFileSync("sh", ["-c", `${line}; printf %s "$KUBECONFIG"`]).toString()).toBe(kubeconfig);
});
