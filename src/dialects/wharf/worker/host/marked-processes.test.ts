import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { killMarkedBelow, markVariable } from "./marked-processes.ts";

test.runIf(process.platform === "linux")(
  "a process is a step's by the variable itself, and not by another one that tells of it",
  async () => {
    const directory = `/nowhere/${process.pid}/work`;
    const waiting = (env: Readonly<Record<string, string>>) =>
      spawn("cat", { env: { PATH: process.env["PATH"], ...env }, stdio: ["pipe", "pipe", "ignore"] });
    const mark = `${directory}/1/artifacts`;
    const own = waiting({ NOTE: "a", [markVariable]: mark });
    // More variables than are read at once, and the one behind them.
    const large = waiting({ NOTE: "a".repeat(100_000), [markVariable]: mark });
    const other = waiting({ NOTE: `see ${markVariable}=${mark}`, [`OLD_${markVariable}`]: mark });
    const ended = Promise.all([own, large].map((each) => once(each, "exit")));
    try {
      await Promise.all([own, large, other].map((each) => once(each, "spawn")));
      killMarkedBelow(directory);
      expect(await ended).toEqual([
        [null, "SIGKILL"],
        [null, "SIGKILL"],
      ]);
      other.stdin.on("error", () => undefined).write("?");
      const answer = once(other.stdout, "data").then(([bytes]) => String(bytes));
      expect(await Promise.race([answer, once(other, "exit")])).toBe("?");
    } finally {
      for (const each of [own, large, other]) each.kill("SIGKILL");
    }
  },
);
