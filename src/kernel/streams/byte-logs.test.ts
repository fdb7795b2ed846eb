import { appendFile, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ByteLogs, type ByteLogsOptions } from "./byte-logs.ts";
import { withDirectory } from "./testing/index.ts";

const withLogs = (
  use: (logs: ByteLogs, directory: string) => Promise<void>,
  options: Partial<ByteLogsOptions> = {},
): Promise<void> =>
  withDirectory(async (parent) => {
    const directory = join(parent, "jobs");
    const logs = new ByteLogs({ directory, ...options });
    try {
      await use(logs, directory);
    } finally {
      await logs.close();
    }
  });

async function textOf(pieces: AsyncIterable<Buffer>): Promise<string> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString();
}

test("bytes are appended in order, after the first ones of a new log, and read in parts", () =>
  withLogs(
    async (logs, directory) => {
      await Promise.all(["one ", "two ", "three"].map((text) => logs.append("a-1", Buffer.from(text))));
      expect(await textOf(logs.read("a-1"))).toBe("log of a-1\none two three");
      expect(await logs.size("a-1")).toBe(24);
      expect(await textOf(logs.read("a-1", 11, 14))).toBe("one");
      expect(await textOf(logs.read("a-1", 99))).toBe("");
      expect(await logs.names()).toEqual(["a-1"]);
      expect(await readFile(join(directory, "a-1.log"), "utf8")).toBe("log of a-1\none two three");
    },
    { begin: (name) => Buffer.from(`log of ${name}\n`) },
  ));

test("a log that is not there has no size and no bytes, and reading it makes none", () =>
  withLogs(async (logs, directory) => {
    expect(await logs.size("none")).toBeUndefined();
    expect(await textOf(logs.read("none"))).toBe("");
    await logs.remove("none");
    expect(await readdir(directory).catch(() => [])).toEqual([]);
    expect(await logs.names()).toEqual([]);
  }));

test("logs are gone on with after a restart, and by another writer's files when few may be open", () =>
  withLogs(
    async (logs, directory) => {
      for (const name of ["a", "b", "c", "a"]) await logs.append(name, Buffer.from(name));
      await logs.close();
      await appendFile(join(directory, "b.log"), "left by a killed process");
      const again = new ByteLogs({ directory });
      expect(await textOf(again.read("a"))).toBe("aa");
      expect(await again.size("b")).toBe(25);
      await again.append("b", Buffer.from("!"));
      expect(await textOf(again.read("b"))).toBe("bleft by a killed process!");
      await again.close();
    },
    { openFiles: 1 },
  ));

test("names cannot leave the directory", () =>
  withLogs(async (logs, directory) => {
    await logs.append("../x", Buffer.from("here"));
    expect(await textOf(logs.read("../x"))).toBe("here");
    expect(await readdir(directory)).toHaveLength(1);
  }));

test("a follower sees what comes, and ends with the log; a new one of its name is empty", () =>
  withLogs(async (logs) => {
    await logs.append("a", Buffer.from("one "));
    const heard: string[] = [];
    const { signal } = new AbortController();
    const following = (async () => {
      for await (const piece of logs.follow("a", 2, signal)) heard.push(piece.toString());
    })();
    await logs.append("a", Buffer.from("two"));
    await expect.poll(() => heard.join("")).toBe("e two");
    await logs.remove("a");
    await following;
    expect(await logs.size("a")).toBeUndefined();
    await logs.append("a", Buffer.from("new"));
    expect(await textOf(logs.read("a"))).toBe("new");
  }));

test("a follower ends with its signal", () =>
  withLogs(async (logs) => {
    await logs.append("a", Buffer.from("x"));
    const end = new AbortController();
    const following = textOf(logs.follow("a", 0, end.signal));
    end.abort();
    expect(["", "x"]).toContain(await following);
  }));

test("an append beyond the limit is refused and changes nothing", () =>
  withLogs(
    async (logs) => {
      await logs.append("a", Buffer.from("12345"));
      await expect(logs.append("a", Buffer.from("678901"))).rejects.toMatchObject({ code: "log-full" });
      await logs.append("a", Buffer.from("67890"));
      expect(await textOf(logs.read("a"))).toBe("1234567890");
    },
    { maxBytes: 10 },
  ));
