import { expect, test } from "vitest";
import { SlipwayError } from "#lib/base/index.ts";
import { serverLog } from "./log.ts";

/** The lines a log writes, read back. */
function logged(write: (log: ReturnType<typeof serverLog>) => void): readonly Record<string, unknown>[] {
  const lines: string[] = [];
  write(serverLog("info", { write: (line) => void lines.push(line) }));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

test("errors are written with message, stack and what caused them", () => {
  const error = new Error("cannot go on", { cause: new Error("the disk is gone") });
  const [line] = logged((log) => log.error("controllers have failed", { error }));
  expect(line).toMatchObject({
    level: "error",
    msg: "controllers have failed",
    error: { message: "cannot go on", cause: { message: "the disk is gone" } },
  });
  expect(line).toHaveProperty(["error", "stack"], expect.stringContaining("log.test.ts"));
});

test("errors of our own have their code, and so have those of a log with fields", () => {
  const error = new SlipwayError("store-failed", "the store cannot write any more", { hint: "look at the disk" });
  const [line] = logged((log) => log.with({ part: "store" }).warn("it failed", { error }));
  expect(line).toMatchObject({
    part: "store",
    error: { code: "store-failed", message: "the store cannot write any more", hint: "look at the disk" },
  });
});

test("texts under the same name stay texts, and lower levels are left out", () => {
  const lines = logged((log) => {
    log.debug("not this", { error: "x" });
    log.info("this", { error: "a text" });
  });
  expect(lines.map(({ error, msg }) => [msg, error])).toEqual([["this", "a text"]]);
});
