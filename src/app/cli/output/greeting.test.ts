import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { greeting, nextSteps, type Served } from "./greeting.ts";
import { paintFor } from "./paint.ts";

const served: Served = {
  version: "1.2.3",
  url: "https://127.0.0.1:6443",
  directory: "/home/anna/.slipway",
  kubeconfig: "/home/anna/.slipway/kubeconfig",
  runtime: "as host processes",
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
