import { execFileSync } from "node:child_process";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeShims } from "./shims.ts";
import { temporaryDirectory } from "./testing/agents.ts";

test("1 missing programs start this one with their arguments; installed ones are left alone", async () => {
  const directory = await temporaryDirectory();
  const [installed, shims] = [join(directory, "installed"), join(directory, "it's here")];
  await mkdir(installed);
  await writeFile(join(installed, "drpjq"), "#!/bin/sh\n");
  await chmod(join(installed, "drpjq"), 0o755);
  const path = await writeShims(shims, ["/bin/echo", "it's"], installed);
  expect(path).toBe(`${shims}:${installed}`);
  const options = { env: { PATH: path }, encoding: "utf8" } as const;
  const said = (line: string) => execFileSync("/bin/sh", ["-c", line], options);
  expect(said('drpcli machines list "a b" --limit 1')).toBe("it's rebar drpcli -- machines list a b --limit 1\n");
  expect(said("jq -r .")).toBe("it's rebar jq -- -r .\n");
  expect(said("command -v drpjq")).toBe(`${join(installed, "drpjq")}\n`);
  await writeShims(installed, ["/bin/echo"], installed);
  expect(await writeShims(shims, ["/bin/echo"], installed)).toBe(installed);
});
