import { readdirSync, readFileSync, statSync } from "node:fs";
import { posix } from "node:path";
import { expect, test } from "vitest";
import { root } from "./sources.ts";

// Pictures of the web UI, made by scripts/screenshots.mjs.

const folder = "docs/images";
const pages = ["README.md", ...readdirSync(`${root}docs/guides`).map((name) => `docs/guides/${name}`)];

/** What a page shows: paths from the root of the repository. */
const shownOn = (page: string): readonly string[] =>
  [...readFileSync(`${root}${page}`, "utf8").matchAll(/\b(?:src|srcset)="([^"]+)"/g)].map(([, target = ""]) =>
    posix.join(posix.dirname(page), target),
  );

test("pages show pictures that exist, each for light and dark; no picture is left over or larger than 150 KB", () => {
  const shown = pages.flatMap(shownOn);
  expect(shownOn("README.md").length).toBeGreaterThan(1);
  const names = readdirSync(`${root}${folder}`);
  expect([...new Set(shown)].sort()).toEqual(names.map((name) => `${folder}/${name}`).sort());
  const light = names.filter((name) => !name.includes("-dark."));
  expect(names.length).toBe(2 * light.length);
  for (const name of light) expect(names).toContain(name.replace(".", "-dark."));
  expect(names.filter((name) => statSync(`${root}${folder}/${name}`).size > 150_000)).toEqual([]);
});
