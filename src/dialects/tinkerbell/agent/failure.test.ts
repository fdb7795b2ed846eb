import { expect, test } from "vitest";
import { endingOf, type Evidence } from "./failure.ts";

const evidence = (more: Partial<Evidence>): Evidence => ({
  exitCode: 1,
  isOutOfMemory: false,
  reason: "",
  message: "",
  lastError: "",
  ...more,
});

test("exit code 0 is success, whatever else there is", () => {
  const all = evidence({ exitCode: 0, isOutOfMemory: true, reason: "Bad", message: "bad", lastError: "bad" });
  expect(endingOf(all)).toEqual({ is: "succeeded" });
});

test.each<readonly [string, Partial<Evidence>, string, string]>([
  ["nothing said", { exitCode: 3 }, "NonZeroExit", "exit code 3"],
  ["a line on stderr", { lastError: " cannot open /dev/sda\r" }, "NonZeroExit", "exit code 1: cannot open /dev/sda"],
  ["killed for its memory", { exitCode: 137, isOutOfMemory: true }, "OOMKilled", "exit code 137"],
  ["a reason and a message", { reason: "DiskMissing", message: "no /dev/sda" }, "DiskMissing", "no /dev/sda"],
  ["an own reason beside a lack of memory", { isOutOfMemory: true, reason: "TooBig" }, "TooBig", "exit code 1"],
  ["newlines at the ends", { reason: "DiskMissing\n", message: "no disk\r\n\n" }, "DiskMissing", "no disk"],
  ["newlines within", { message: "one\ntwo\r\nthree" }, "NonZeroExit", "one\\ntwo\\nthree"],
  ["an invalid reason", { reason: "Disk Full!" }, "InvalidReason", "Disk Full!: exit code 1"],
  ["an invalid reason and a message", { reason: "Disk Full!", message: "sda" }, "InvalidReason", "Disk Full!: sda"],
  ["a reason of two lines", { reason: "A\nB", message: "m" }, "InvalidReason", "A\\nB: m"],
  ["a reason that begins with a digit", { reason: "2Big", message: "m" }, "InvalidReason", "2Big: m"],
  ["a reason of 64 letters", { reason: "a".repeat(64), message: "m" }, "a".repeat(64), "m"],
  ["a reason of 65 letters", { reason: "a".repeat(65), message: "m" }, "InvalidReason", `${"a".repeat(65)}: m`],
  ["only newlines", { reason: "\n", message: "\n" }, "NonZeroExit", "exit code 1"],
])("%s", (_what, more, reason, message) => {
  expect(endingOf(evidence(more))).toEqual({ is: "failed", reason, message });
});

test.each<readonly [string, Partial<Evidence>]>([
  ["message", { message: "ä".repeat(5000) }],
  ["reason", { reason: "ä".repeat(5000) }],
  ["line on stderr", { lastError: "ä".repeat(5000) }],
])("a long %s is cut at 4 KiB, not within a character", (_what, more) => {
  const ending = endingOf(evidence(more));
  if (ending.is !== "failed") throw new Error("expected a failure");
  expect(Buffer.byteLength(ending.message)).toBeLessThanOrEqual(4096);
  expect(ending.message).toMatch(/^(?:exit code 1: )?ä+$/);
});
