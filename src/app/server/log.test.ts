import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SlipwayError } from "#lib/base/index.ts";
import { backgroundLines, serverLog } from "./log.ts";

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

test("the file of a server in the background begins anew when it is large, and one older file is kept", async () => {
  const directory = await mkdtemp(join(tmpdir(), "slipway-log-"));
  const path = join(directory, "slipway.log");
  const fd = openSync(path, "a", 0o600);
  const log = serverLog("info", backgroundLines(path, fd, 10_000));
  for (let at = 0; at < 1000; at += 1) log.info(`line ${at}`);
  const texts = [`${path}.1`, path].map((file) => readFileSync(file, "utf8"));
  for (const text of texts) expect(text.length).toBeLessThanOrEqual(10_000);
  const lines = texts.join("").trim().split("\n");
  // Both together are the last lines, all of them.
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(
    lines.map((_, at) => `line ${1000 - lines.length + at}`),
  );
  expect(readdirSync(directory)).toEqual(["slipway.log", "slipway.log.1"]);
  closeSync(fd);
  // A file of that name that stderr is not stays as it is.
  const other = openSync(join(directory, "other"), "a");
  const elsewhere = serverLog("info", backgroundLines(path, other, 10));
  elsewhere.info("to the other file");
  expect(readFileSync(path, "utf8")).toBe(texts[1]);
  expect(readFileSync(join(directory, "other"), "utf8")).toContain("to the other file");
  closeSync(other);
  await rm(directory, { recursive: true });
});
