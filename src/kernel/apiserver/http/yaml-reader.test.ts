import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Clock, systemClock } from "#lib/base/index.ts";
import { bundleProgram } from "#test/support/bundle-program.ts";
import { defaultLimits } from "../verbs/limits.ts";
import { BodyPieces } from "./body-pieces.ts";
import { YamlReader, type YamlReaderOptions } from "./yaml-reader.ts";

let program: string;
beforeAll(async () => {
  program = await bundleProgram(join(import.meta.dirname, "yaml-reader-program.ts"));
});

let reader: YamlReader;
afterEach(() => reader.close());
const open = (options: Partial<YamlReaderOptions> = {}) =>
  (reader = new YamlReader({ program, clock: systemClock, limits: defaultLimits, smallBytes: 100, ...options }));
const bodyOf = (text: string) => new BodyPieces(Buffer.from(text));
const here = new AbortController().signal;
async function read(text: string, signal = here): Promise<unknown> {
  const document = await reader.read(bodyOf(text), () => signal);
  return "json" in document ? JSON.parse(document.json.toString()) : document.value;
}
const lines = (count: number, line = "- a\n"): string => line.repeat(count);

describe("a small text", () => {
  test("is read at once when it is plain", () => {
    open();
    expect(reader.read(bodyOf("a: yes\n"), () => here)).toEqual({ value: { a: true }, duplicates: [] });
    expect(reader.read(bodyOf("# nothing\n"), () => here)).toEqual({ value: undefined, duplicates: [] });
    expect(() => reader.read(new BodyPieces(Buffer.from([0x61, 0xff])), () => here)).toThrow("no UTF-8");
  });

  test("with anchors, of several documents or with mistakes is for the thread, which takes longer and says the same", async () => {
    open();
    const anchored = reader.read(bodyOf("a: &a 1\nb: *a\n"), () => here);
    expect(anchored).toBeInstanceOf(Promise);
    expect(await anchored).toEqual({ json: Buffer.from('{"a":1,"b":1}'), duplicates: [] });
    await expect(read("a: [\n")).rejects.toMatchObject({ code: 400, message: expect.stringContaining("body:") });
    await expect(read("a: 1\n---\nb: 1\n")).rejects.toThrow("more than one YAML document");
  });

  test("that is for the thread goes before large ones that wait", async () => {
    open();
    const ends: string[] = [];
    const note = (name: string, text: string) => read(text).then(() => ends.push(name));
    await Promise.all([note("first", lines(1000)), note("large", lines(1000)), note("small", "a: &a 1\n")]);
    expect(ends).toEqual(["first", "small", "large"]);
  });
});

describe("a large text", () => {
  test("is read in a thread, to the same value", async () => {
    open();
    const text = `a: yes\n"__proto__": 0755\nl: &l [1, x]\nm: *l\nt: x\nt: ${"ü".repeat(200)}\n`;
    expect(await reader.read(bodyOf(text), () => here)).toEqual({
      json: Buffer.from(`{"a":true,"__proto__":493,"l":[1,"x"],"m":[1,"x"],"t":"${"ü".repeat(200)}"}`),
      duplicates: ["t"],
    });
    expect(await read(lines(100, "# nothing\n"))).toBeUndefined();
  });

  test.each<[string, string, number, RegExp]>([
    ["no YAML", `a: [\n${lines(100)}`, 400, /cannot be read as YAML: body:\d+:\d+: error: /],
    ["two documents", `a: 1\n---\n${lines(100)}`, 400, /more than one YAML document/],
    ["too deep", "[".repeat(100_000), 400, /nested deeper than 200 levels/],
    ["deep by its aliases", deepAliases(), 400, /nested deeper than 200 levels, with its aliases/],
    [
      "too many values",
      `x: [${"a,".repeat(150_001)}]`,
      413,
      /more than 300000 texts, lines and comments|more than 150000 values/,
    ],
    [
      "too many values by its aliases",
      `a: &a [${"1,".repeat(1000)}1]\nb: [${"*a,".repeat(150)}*a]\nc: [${"1,".repeat(20_000)}1]`,
      413,
      /more than 150000 values/,
    ],
    ["too many members", lines(10_001, "").concat(members(10_001)), 413, /an object with more than 10000 members/],
    ["too many comments", lines(400_000, "#\n"), 413, /more than 300000 texts, lines and comments/],
    [
      "a long text many times",
      `a: &a ${"x".repeat(100_000)}\nb: [${"*a,".repeat(1000)}*a]`,
      413,
      /when its aliases are written out/,
    ],
  ])("that is %s is refused", async (_what, text, code, message) => {
    open();
    await expect(read(text)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    expect(await read(lines(100))).toHaveLength(100);
  });

  test("that takes too long is refused, and the next one is read", async () => {
    open({ budgetMs: 100 });
    await expect(read(lines(100_000))).rejects.toMatchObject({ code: 413, message: expect.stringContaining("time") });
    open();
    expect(await read(lines(100))).toHaveLength(100);
  });

  test("that takes too long is not answered for the next one when its answer comes after all", async () => {
    const directory = await mkdtemp(join(tmpdir(), "slipway-yaml-"));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const [echo, answered] = [join(directory, "echo.cjs"), join(directory, "answered")];
    // Answers with the first letter of what it was asked, and notes that it has.
    const lines = [
      'const { parentPort } = require("node:worker_threads");',
      'parentPort.on("message", ({ bytes }) => {',
      "  const letter = String.fromCharCode(bytes[0]);",
      "  parentPort.postMessage({ document: { json: Buffer.from(JSON.stringify(letter)), duplicates: [] } });",
      `  require("node:fs").writeFileSync(${JSON.stringify(answered)} + letter, "");`,
      "});",
    ];
    await writeFile(echo, lines.join("\n"));
    const timers: (() => void)[] = [];
    const clock: Clock = { ...systemClock, after: (_delay, run) => (timers.push(run), () => undefined) };
    open({ program: echo, clock, smallBytes: 0 });
    const [first, second] = [read("a"), read("b")];
    // This thread hears nothing meanwhile: the answer is there, and nobody has taken it yet when the time is over.
    while (!existsSync(`${answered}a`));
    timers[0]?.();
    await expect(first).rejects.toMatchObject({ code: 413, message: expect.stringContaining("time") });
    expect(await second).toBe("b");
  });

  test("that takes too much memory is refused, and the next one is read", async () => {
    open({ maxHeapMb: 24 });
    const dear = read(lines(130_000));
    const next = read(lines(100));
    await expect(dear).rejects.toMatchObject({ code: 413, message: expect.stringContaining("memory") });
    expect(await next).toHaveLength(100);
  });

  test("waits only where there is room, and not for those who have left", async () => {
    open({ maxWaitingBytes: 10_000 });
    const gone = new AbortController();
    const first = read(lines(2000));
    const second = read(lines(1000), gone.signal);
    await expect(read(lines(2000))).rejects.toMatchObject({ code: 429 });
    expect(() => reader.check(8000)).toThrow(expect.objectContaining({ code: 429 }));
    reader.check(2000);
    gone.abort(new Error("left"));
    await expect(second).rejects.toThrow("left");
    expect(await first).toHaveLength(2000);
    expect(await read(lines(2000))).toHaveLength(2000);
  });

  test("is read by a new thread when the last one had nothing to do", async () => {
    open({ idleMs: 1 });
    for (let n = 0; n < 3; n += 1) {
      expect(await read(lines(100))).toHaveLength(100);
      await new Promise((resolve) => systemClock.after(20, () => resolve(undefined)));
    }
  });

  test("is refused when the server closes", async () => {
    open();
    const [first, second] = [read(lines(10_000)), read(lines(100))];
    reader.close();
    await expect(first).rejects.toMatchObject({ code: 503 });
    await expect(second).rejects.toMatchObject({ code: 503 });
  });
});

function members(count: number): string {
  return Array.from({ length: count }, (_, n) => `k${n}: v\n`).join("");
}

/** Two anchors of 150 levels, one in the other. */
function deepAliases(): string {
  const nest = (inside: string) => "[".repeat(150) + inside + "]".repeat(150);
  return `a: &a ${nest("x")}\nb: ${nest("*a")}\n`;
}
