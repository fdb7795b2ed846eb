import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { root } from "#test/support/slipway.ts";

interface Manifest {
  /** Scripts before the first view, Runs. */
  readonly first: readonly string[];
  readonly files: Readonly<Record<string, { readonly bytes: number }>>;
}

const files = join(root, "dist/ui");
const manifest = JSON.parse(readFileSync(join(files, "manifest.json"), "utf8")) as Manifest;
const compressed = (names: readonly string[]): number =>
  names.reduce((sum, name) => sum + brotliCompressSync(readFileSync(join(files, name))).length, 0);
const ending = (end: string): readonly string[] => Object.keys(manifest.files).filter((name) => name.endsWith(end));

test("section 7: 45 KB of scripts before the first view, 130 KB in all, 12 KB of styles, compressed", () => {
  const first = compressed(manifest.first);
  const [scripts, styles] = [compressed(ending(".js")), compressed(ending(".css"))];
  process.stdout.write(`page: first ${first}, scripts ${scripts}, styles ${styles} bytes\n`);
  expect(first).toBeLessThanOrEqual(45 * 1024);
  expect(scripts).toBeLessThanOrEqual(130 * 1024);
  expect(styles).toBeLessThanOrEqual(12 * 1024);
});

test("the page has no script or style that its policy would refuse", () => {
  const html = readFileSync(join(files, "index.html"), "utf8");
  expect(html).not.toMatch(/<script(?![^>]* src=)|<style|style=|\son\w+=|https?:/);
});
