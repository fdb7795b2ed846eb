import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { LogWriter } from "#kernel/streams/index.ts";
import { temporaryDirectory } from "#kernel/runtimes/testing/index.ts";
import type { Container } from "../pod-types.ts";
import { shellPod } from "../testing/index.ts";
import { longestOutputs, terminationMessage } from "./termination-message.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let outputPath: string;
let logPath: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
  outputPath = join(directory.path, "output");
  logPath = join(directory.path, "0.log");
});
afterEach(() => directory.remove());

const message = (more: { policy?: string; failed?: boolean } = {}) =>
  terminationMessage({ outputPath, logPath, policy: more.policy, failed: more.failed ?? false });

async function print(text: string): Promise<void> {
  const log = new LogWriter(logPath, { clock: systemClock });
  log.append("stdout", Buffer.from(text));
  await log.close();
}

test.each([
  ["", ""],
  ["done\n", "done\n"],
  ["x".repeat(4_096), "x".repeat(4_096)],
  ["x".repeat(4_097), "x".repeat(4_096)],
  [`${"x".repeat(4_095)}é`, "x".repeat(4_095)],
  [`${"x".repeat(4_094)}é`, `${"x".repeat(4_094)}é`],
  [`${"x".repeat(4_093)}走`, `${"x".repeat(4_093)}走`],
  [`${"x".repeat(4_094)}走`, "x".repeat(4_094)],
])("a file is told up to 4 KiB, and no half characters: %#", async (text, expected) => {
  await writeFile(outputPath, text);
  const found = await message();
  expect(found).toBe(expected);
  expect(Buffer.byteLength(found)).toBeLessThanOrEqual(4_096);
});

test("a file that is missing, or whose directory is, says nothing", async () => {
  expect(await message()).toBe("");
  outputPath = join(directory.path, "none", "output");
  expect(await message()).toBe("");
  await writeFile(join(directory.path, "file"), "");
  outputPath = join(directory.path, "file", "output");
  expect(await message()).toBe("");
});

test.each([
  ["a directory", (path: string) => mkdir(path)],
  ["a link to what only we may read", (path: string) => symlink("/etc/hostname", path)],
  ["a link to nowhere", (path: string) => symlink("/no/such/file", path)],
  ["a link to itself", (path: string) => symlink(path, path)],
  ["a device without end", (path: string) => symlink("/dev/zero", path)],
])("a container that made its file %s says nothing and keeps nobody waiting", async (_name, make) => {
  await make(outputPath);
  expect(await message()).toBe("");
});

test.skipIf(process.getuid?.() === 0)("a file that may not be read says nothing", async () => {
  await writeFile(outputPath, "hidden");
  await chmod(outputPath, 0o000);
  expect(await message()).toBe("");
});

test.each([
  ["File", true, ""],
  [undefined, true, ""],
  ["FallbackToLogsOnError", false, ""],
  ["FallbackToLogsOnError", true, "the end\n"],
])("with the policy %s and failure %s an absent message is %j", async (policy, failed, expected) => {
  await print("the end\n");
  expect(await message({ ...(policy === undefined ? {} : { policy }), failed })).toBe(expected);
});

test("a message is preferred to the log", async () => {
  await print("the end\n");
  await writeFile(outputPath, "said");
  expect(await message({ policy: "FallbackToLogsOnError", failed: true })).toBe("said");
});

test("of a log the last 80 lines are told, and no more than 2 KiB of them", async () => {
  await print(Array.from({ length: 200 }, (_, line) => `${line}\n`).join(""));
  const lines = (await message({ policy: "FallbackToLogsOnError", failed: true })).trimEnd().split("\n");
  expect(lines).toEqual(Array.from({ length: 80 }, (_, line) => `${120 + line}`));
});

test("a long line is cut at its beginning, and not in the middle of a character", async () => {
  await print(`${"é".repeat(5_000)}!\n`);
  const found = await message({ policy: "FallbackToLogsOnError", failed: true });
  expect(found).toMatch(/^é+!\n$/);
  expect(Buffer.byteLength(found)).toBe(2_048);
});

test("a failed container that printed nothing says nothing", async () => {
  expect(await message({ policy: "FallbackToLogsOnError", failed: true })).toBe("");
});

const output = [{ name: "SLIPWAY_OUTPUT", value: "/dev/termination-log" }];
test.each<[string, string, Container[], number | undefined]>([
  [
    "the main container of a Pod with outputs",
    "main",
    [
      { name: "a", env: output },
      { name: "main", env: output },
    ],
    32_772,
  ],
  [
    "another one beside it",
    "a",
    [
      { name: "a", env: output },
      { name: "main", env: output },
    ],
    undefined,
  ],
  [
    "the first, where none is called main",
    "a",
    [
      { name: "a", env: output },
      { name: "b", env: output },
    ],
    32_772,
  ],
  ["a container that was not made for outputs", "main", [{ name: "main", env: [] }], undefined],
  ["one without variables", "main", [{ name: "main" }], undefined],
])("of %s more than Kubernetes' 4 KiB are kept, or not", (_what, name, containers, bytes) => {
  const pod = shellPod("p", "true");
  const container = containers.find((one) => one.name === name) ?? { name };
  expect(longestOutputs({ ...pod, spec: { ...pod.spec, containers } }, container)).toBe(bytes);
});

test("so many bytes are read where so many are kept", async () => {
  await writeFile(outputPath, "x".repeat(40_000));
  const kept = await terminationMessage({ outputPath, logPath, policy: undefined, maxBytes: 32_772, failed: false });
  expect(kept).toHaveLength(32_772);
});
