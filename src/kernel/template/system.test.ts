import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { ModuleSystem } from "./system.ts";

const memory = new ArrayBuffer(65_536);
const view = new DataView(memory);

/** The calls of a module that imports these; WebAssembly gives them numbers. */
function callsOf(system: ModuleSystem, ...names: readonly string[]) {
  return system.imports(names) as Record<string, (...given: readonly (number | bigint)[]) => number>;
}

test("last words are kept from their beginning on, of standard error only, and all of them count as written", () => {
  const system = new ModuleSystem(() => memory);
  const { fd_write: write } = callsOf(system, "fd_write");
  const say = (file: number, text: string): void => {
    new Uint8Array(memory).set(Buffer.from(text), 1000);
    // Two parts: the first three bytes, then the rest.
    for (const [at, value] of [1000, 3, 1003, text.length - 3].entries()) view.setUint32(at * 4, value, true);
    expect(write?.(file, 0, 2, 100)).toBe(0);
    expect(view.getUint32(100, true)).toBe(text.length);
  };
  say(1, "standard output");
  say(2, "fatal error: ");
  say(2, "x".repeat(10_000));
  say(2, "too late");
  expect(system.lastWords).toBe(`fatal error: ${"x".repeat(4096 - 13)}`);
});

test("the clocks are those that it was given, in nanoseconds", async () => {
  const clock = new FakeClock(1_700_000_000_123);
  await clock.advance(42);
  const { clock_time_get: time } = callsOf(new ModuleSystem(() => memory, clock), "clock_time_get");
  expect(time?.(0, 1n, 8)).toBe(0);
  expect(view.getBigUint64(8, true)).toBe(1_700_000_000_165_000_000n);
  expect(time?.(1, 1n, 8)).toBe(0);
  expect(view.getBigUint64(8, true)).toBe(42_000_000n);
});

test("sleep ends with the event that was subscribed to", () => {
  const { poll_oneoff: poll } = callsOf(new ModuleSystem(() => memory), "poll_oneoff");
  view.setBigUint64(0, 77n, true);
  view.setBigUint64(24, 1_000_000n, true);
  new Uint8Array(memory, 200, 32).fill(255);
  expect(poll?.(0, 200, 1, 300)).toBe(0);
  expect(view.getBigUint64(200, true)).toBe(77n);
  expect(new Uint8Array(memory, 208, 24).every((byte) => byte === 0)).toBe(true);
  expect(view.getUint32(300, true)).toBe(1);
});

test("random bytes are not the same twice", () => {
  const { random_get: random } = callsOf(new ModuleSystem(() => memory), "random_get");
  const taken = [0, 1].map(() => {
    expect(random?.(400, 16)).toBe(0);
    return Buffer.from(memory.slice(400, 416)).toString("hex");
  });
  expect(taken[0]).not.toBe(taken[1]);
});

test("there are neither arguments nor variables nor files, and no other call", () => {
  const {
    args_sizes_get: sizes,
    fd_prestat_get: prestat,
    path_open: open,
  } = callsOf(new ModuleSystem(() => memory), "args_sizes_get", "fd_prestat_get", "path_open");
  view.setUint32(0, 9, true);
  expect(sizes?.(0, 4)).toBe(0);
  expect(view.getUint32(0, true)).toBe(0);
  expect(prestat?.(3, 0)).toBe(8);
  expect(open?.(3, 0)).toBe(58);
});

test("exit does not return", () => {
  const { proc_exit: exit } = callsOf(new ModuleSystem(() => memory), "proc_exit");
  expect(() => exit?.(2)).toThrow("the module has exited with 2");
});
