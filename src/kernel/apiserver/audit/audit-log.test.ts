import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { waitUntil } from "../testing/wait-until.ts";
import { AuditLog } from "./audit-log.ts";

let parent: string;
let directory: string;
let clock: FakeClock;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), "slipway-audit-"));
  directory = join(parent, "audit");
  clock = new FakeClock();
});
afterEach(() => rm(parent, { recursive: true, force: true }));

const make = (more: { readonly maxFileBytes?: number; readonly maxFiles?: number } = {}) =>
  new AuditLog({ directory, clock, log: silentLog, ...more });
const read = (name = "audit.jsonl") => readFile(join(directory, name), "utf8");

describe("an audit log", () => {
  test("is on the disk a second after the first line, for its owner only", async () => {
    const log = make();
    log.append("1");
    log.append("2");
    await clock.advance(1000);
    await log.flush();
    expect(await read()).toBe("1\n2\n");
    expect((await stat(join(directory, "audit.jsonl"))).mode & 0o777).toBe(0o600);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    await log.close();
  });

  test("needs nobody who flushes", async () => {
    const log = make();
    log.append("1");
    await clock.advance(1000);
    await waitUntil(async () => (await read().catch(() => "")) === "1\n");
    log.append("2");
    await clock.advance(1000);
    await waitUntil(async () => (await read()) === "1\n2\n");
    await log.close();
  });

  test("goes on in its file after a restart, and is whole after the close", async () => {
    const first = make();
    first.append("1");
    await first.close();
    const second = make();
    second.append("2");
    await second.close();
    expect(await read()).toBe("1\n2\n");
  });

  test("has files of a size and a number of them", async () => {
    const log = make({ maxFileBytes: 20, maxFiles: 3 });
    for (let line = 0; line < 8; line++) {
      log.append(`line ${line}!!`);
      await log.flush();
    }
    await log.close();
    expect((await readdir(directory)).sort()).toEqual(["audit-1.jsonl", "audit-2.jsonl", "audit.jsonl"]);
    expect([await read("audit-2.jsonl"), await read("audit-1.jsonl"), await read()]).toEqual([
      "line 2!!\nline 3!!\n",
      "line 4!!\nline 5!!\n",
      "line 6!!\nline 7!!\n",
    ]);
  });

  test("counts what it cannot write, and goes on when it can again", async () => {
    await writeFile(directory, "in the way");
    const log = make();
    log.append("lost");
    await log.flush();
    expect(log.dropped).toBe(1);
    await rm(directory);
    log.append("kept");
    await log.close();
    expect([log.dropped, await read()]).toEqual([1, "kept\n"]);
  });

  test("has a bound for what waits", async () => {
    const log = make();
    const line = "x".repeat(2 ** 20);
    for (let count = 0; count < 10; count++) log.append(line);
    expect(log.dropped).toBe(3);
    await log.close();
    expect((await stat(join(directory, "audit.jsonl"))).size).toBe(7 * (2 ** 20 + 1));
  });
});
