import { execFile } from "node:child_process";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { helperScript } from "./helper.ts";
import { temporaryDirectory } from "./testing/agents.ts";

const run = promisify(execFile);

/** Runs lines after `. helper`, with a drpcli that prints its arguments and input. */
async function withHelper(lines: string) {
  const directory = await temporaryDirectory();
  await mkdir(join(directory, "bin"));
  const drpcli = join(directory, "bin", "drpcli");
  await writeFile(drpcli, '#!/bin/sh\necho "drpcli $*"\n[ "$7" != - ] || cat\n');
  await chmod(drpcli, 0o755);
  await writeFile(join(directory, "helper"), helperScript);
  const env = { PATH: `${directory}/bin:/bin:/usr/bin`, RS_TASK_DIR: directory, RS_UUID: "u-1" };
  const options = { cwd: directory, env };
  const ended = await run("bash", ["-c", `. helper\n${lines}`], options).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (thrown: { readonly code: number; readonly stdout: string }) => ({ code: thrown.code, stdout: thrown.stdout }),
  );
  return { ...ended, directory };
}

test.each([
  ["exit_incomplete", 128],
  ["exit_reboot", 64],
  ["exit_shutdown", 32],
  ["exit_stop", 16],
  ["exit_incomplete_reboot", 192],
  ["exit_incomplete_shutdown", 160],
  ["__exit 7", 7],
])("7.4 %s ends a script with %i and marks its exit codes as sane", async (call, expected) => {
  const { code, directory } = await withHelper(call);
  expect(code).toBe(expected);
  expect(await readFile(join(directory, ".sane-exit-codes"), "utf8")).toBe("");
});

test("7.4 params are read aggregated, and set from an argument or standard input", async () => {
  const { stdout } = await withHelper('get_param a/b\nset_param a/b true\necho "{}" | set_param a/b');
  expect(stdout).toBe(
    "drpcli machines get u-1 param a/b --aggregate\ndrpcli machines set u-1 param a/b to true\ndrpcli machines set u-1 param a/b to -\n{}\n",
  );
});

test("7.4 the system is described and the shell is set up", async () => {
  const { stdout } = await withHelper(
    'echo "$OS_NAME" = "$OS_TYPE-$OS_VER" "$OS_FAMILY" "$INITSTYLE" "$LC_ALL"\nshopt -p nullglob extglob globstar\nset -o | grep -E "errexit|pipefail"\naddr_port 10.0.0.1 80\naddr_port fe80::1 80\ncase ":$PATH:" in *:/usr/sbin:*) echo sbin;; esac',
  );
  const [name = "", ...rest] = stdout.trim().split("\n");
  expect(name).toMatch(/^(\S*-\S*) = \1 \w+ (?:systemd|upstart|sysv) C$/);
  expect(rest).toEqual([
    "shopt -s nullglob",
    "shopt -s extglob",
    "shopt -s globstar",
    expect.stringMatching(/^errexit\s+on$/) as string,
    expect.stringMatching(/^pipefail\s+on$/) as string,
    "10.0.0.1:80",
    "[fe80::1]:80",
    "sbin",
  ]);
});
