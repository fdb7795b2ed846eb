import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { treeCpuUs } from "./cpu.ts";

test.runIf(process.platform === "linux")("CPU of children counts, also after they have ended", async () => {
  const work = "for (const end = process.cpuUsage().user + 60_000; process.cpuUsage().user < end; );";
  const program = `require("child_process").spawnSync(process.execPath, ["-e", ${JSON.stringify(work)}]); console.log(1);`;
  const child = spawn(process.execPath, ["-e", `${program} setInterval(() => {}, 1000);`]);
  try {
    await once(child.stdout, "data");
    expect(treeCpuUs([child.pid ?? 0])).toBeGreaterThanOrEqual(60_000);
  } finally {
    child.kill("SIGKILL");
  }
});

test.runIf(process.platform === "linux")("a process that is gone has used nothing", () => {
  expect(treeCpuUs([2 ** 30])).toBe(0);
});
