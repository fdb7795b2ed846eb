import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { mostRssBytes, treeRssBytes } from "./memory.ts";

test.runIf(process.platform === "linux")("memory of children counts too", async () => {
  const program = `require("child_process").spawn("sleep", ["60"]).once("spawn", () => console.log(1));`;
  const child = spawn(process.execPath, ["-e", program]);
  try {
    await once(child.stdout, "data");
    expect(treeRssBytes([child.pid ?? 0])).toBeGreaterThan(20_000_000);
    expect(treeRssBytes([process.pid])).toBeGreaterThan(treeRssBytes([child.pid ?? 0]) + 20_000_000);
    // Without the child of the child.
    expect(mostRssBytes(child.pid ?? 0)).toBeGreaterThan(20_000_000);
  } finally {
    child.kill("SIGKILL");
  }
});

test("of a process that is gone nothing is known", () => {
  expect(treeRssBytes([2 ** 30])).toBeNaN();
  expect(mostRssBytes(2 ** 30)).toBeNaN();
});
