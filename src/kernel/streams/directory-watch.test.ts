import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DirectoryWatch } from "./directory-watch.ts";
import { withDirectory } from "./testing/index.ts";

test("the first look is due at once, the next when something changed", () =>
  withDirectory(async (directory) => {
    const watch = new DirectoryWatch(directory, []);
    await watch.changed();
    const next = watch.changed();
    await writeFile(join(directory, "file"), "");
    await next;
    watch.close();
  }));

test("a change between two looks is not lost", () =>
  withDirectory(async (directory) => {
    const probe = new DirectoryWatch(directory, []);
    const watch = new DirectoryWatch(directory, []);
    await Promise.all([probe.changed(), watch.changed()]);
    const seen = probe.changed();
    await writeFile(join(directory, "file"), "");
    // Whoever waits for the other watch knows that the notice has come to this process.
    await seen;
    await watch.changed();
    watch.close();
    probe.close();
  }));

test("a signal that aborts wakes who waits", () =>
  withDirectory(async (directory) => {
    const stop = new AbortController();
    const watch = new DirectoryWatch(directory, [new AbortController().signal, stop.signal]);
    await watch.changed();
    const next = watch.changed();
    stop.abort();
    await next;
    watch.close();
  }));

test("a closed watch leaves no listener at its signals", () =>
  withDirectory(async (directory) => {
    const stop = new AbortController();
    const removed: string[] = [];
    const { signal } = stop;
    const original = signal.removeEventListener.bind(signal);
    signal.removeEventListener = (...args: Parameters<typeof original>) => {
      removed.push(args[0]);
      original(...args);
    };
    new DirectoryWatch(directory, [signal]).close();
    expect(removed).toEqual(["abort"]);
  }));

test("a directory that does not exist cannot be watched", () =>
  withDirectory(async (directory) => {
    expect(() => new DirectoryWatch(join(directory, "none"), [])).toThrow("ENOENT");
  }));
