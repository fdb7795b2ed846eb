import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commands } from "../../src/dialects/wharf/commands.ts";
import { createResults } from "../../src/dialects/wharf/results/results-store.ts";
import { newBuild } from "../../src/dialects/wharf/results/testing/new-build.ts";
import { systemClock } from "../../src/lib/base/index.ts";
import { cleanEnvironment, removeDirectory, slipwayBin, temporaryDirectory } from "../support/slipway.ts";
import { wharfHeaders } from "#test/support/wharf-access.ts";

// Results that a build has left, shown and removed by the real program. Builds of this user lie below TMPDIR, which is a folder of the test.

let home = "";
let builds = "";
beforeAll(async () => {
  home = await temporaryDirectory();
  builds = join(home, "iver-wharf/build");
  await mkdir(builds, { recursive: true, mode: 0o700 });
  for (const id of ["7", "8"]) {
    const results = await createResults(join(builds, id), newBuild(1), { clock: systemClock });
    (await results.openLog(1)).append("stdout", Buffer.from(`printed by ${id}\n`));
    await results.setStatus(1, "Success", 0);
    await results.finish({ status: "Success" });
    await results.freeze();
  }
});
afterAll(() => removeDirectory(home));

/** An example of the command's help, for this test's folder. Tells what it has printed when that is a line, and how it ended. */
function run(example: string) {
  const words = example.replace("/tmp", home).split(" ").slice(1);
  const child = spawn(process.execPath, [slipwayBin, ...words], {
    env: cleanEnvironment({ HOME: home, TMPDIR: home }),
    stdio: ["ignore", "pipe", "inherit"],
  });
  let out = "";
  const printed = new Promise<string>((resolve) => {
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString();
      if (out.includes("\n")) resolve(out.trim());
    });
  });
  const ended = new Promise<{ code: number | null; out: string }>((resolve) => {
    child.once("close", (code) => resolve({ code, out }));
  });
  return { printed, ended, stop: () => child.kill("SIGTERM") };
}

const [serving = "", pruning = ""] = commands.find(({ name }) => name === "wharf results")?.examples ?? [];

test(serving, async () => {
  const served = run(serving);
  const url = await served.printed;
  expect((await fetch(`${url}/api/build`)).status).toBe(401);
  const headers = wharfHeaders(join(home, ".slipway"));
  expect(await (await fetch(`${url}/api/build/step/1/log`, { headers })).text()).toBe("printed by 7\n");
  expect(await (await fetch(`${url}/api/build`, { headers })).json()).toMatchObject({
    frozen: true,
    logs: [{ stepId: 1, lines: 1 }],
  });
  expect((await fetch(`${url}/api/build/cancel`, { method: "POST", headers })).status).toBe(202);
  served.stop();
  expect(await served.ended).toEqual({ code: 0, out: `${url}\n` });
});

test(pruning, async () => {
  expect(await run(pruning).ended).toEqual({ code: 0, out: "" });
  const all = await run("slipway wharf results prune --keep 1").ended;
  expect(all).toEqual({ code: 0, out: `${join(builds, "7")}\n` });
});
