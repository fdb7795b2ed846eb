import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { agentOptions, variableOf } from "#dialects/tinkerbell/agent/agent-options.ts";
import { exec, root, slipway } from "#test/support/slipway.ts";

const unit = join(root, "examples/tinkerbell/slipway-agent.service");
const analyze = ["/usr/bin/systemd-analyze", "/bin/systemd-analyze"].find((path) => existsSync(path));

/** Without systemd nobody starts units either; in CI it is there. */
test.skipIf(analyze === undefined && process.env["CI"] === undefined)(
  "systemd has nothing against the unit",
  async () => {
    const { code, out, err } = await exec(analyze ?? "systemd-analyze", ["verify", unit]);
    expect({ code, out, err }).toEqual({ code: 0, out: "", err: "" });
  },
);

test("the variables it names are options of the agent, and so are its words", async () => {
  const text = await readFile(unit, "utf8");
  const known: readonly string[] = (Object.keys(agentOptions) as (keyof typeof agentOptions)[]).map(variableOf);
  const named = [...text.matchAll(/SLIPWAY_AGENT_\w+/g)].map(([name]) => name);
  expect(named.length).toBeGreaterThan(3);
  for (const name of named) expect(known).toContain(name);
  const [, words = ""] = /^ExecStart=\/usr\/bin\/env slipway (.*)$/m.exec(text) ?? [];
  // Wrong options end with the code that the unit does not try again.
  const env = { SLIPWAY_AGENT_STATE_DIR: "/nonexistent", SLIPWAY_AGENT_SERVER: "no address" };
  const { code, err } = await slipway(words.split(" "), { env });
  expect(code, err).toBe(2);
  expect(text).toContain("RestartPreventExitStatus=2\n");
  expect(text).toContain("KillMode=process\n");
});
