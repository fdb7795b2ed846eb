import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { commands } from "#app/cli/commands/index.ts";
import { root } from "./sources.ts";

const read = (path: string): string => readFileSync(`${root}${path}`, "utf8");
const foldersIn = (path: string): string[] =>
  readdirSync(`${root}${path}`, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : []));

/** The floors as ARCHITECTURE.md draws them: the folders of each, by its name. */
function drawnFloors(): ReadonlyMap<string, readonly string[]> {
  const [, drawing = ""] = /## The floors\n\n```\n(.*?)```/s.exec(read("ARCHITECTURE.md")) ?? [];
  const floors = new Map<string, string[]>();
  let floor = "";
  for (const line of drawing.trimEnd().split("\n")) {
    const [, name, rest = ""] = /^(?:(\w+)\/)?\s*(.*)$/.exec(line) ?? [];
    floor = name ?? floor;
    floors.set(floor, [...(floors.get(floor) ?? []), ...rest.split(" ").filter((word) => word !== "")]);
  }
  return floors;
}

test("ARCHITECTURE.md draws the folders that exist", () => {
  const floors = drawnFloors();
  expect([...floors.keys()].sort()).toEqual(foldersIn("src"));
  for (const [floor, drawn] of floors)
    if (floor !== "engine") expect([floor, ...drawn.toSorted()]).toEqual([floor, ...foldersIn(`src/${floor}`)]);
});

test("every command that README and ARCHITECTURE name exists, and README links every guide", () => {
  const known = new Set(commands.map(({ name }) => name));
  const firstWords = new Set([...known].map((name) => name.split(" ")[0]));
  const named = ["README.md", "ARCHITECTURE.md"].flatMap((page) =>
    [...read(page).matchAll(/(?:`|^)slipway ((?:[a-z-]+ ?)+)/gm)].map(([, words = ""]) => words.trim()),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((words) => !firstWords.has(words.split(" ")[0]))).toEqual([]);
  const guides = readdirSync(`${root}docs/guides`).map((name) => `docs/guides/${name}`);
  expect(guides.filter((guide) => !read("README.md").includes(`(${guide})`))).toEqual([]);
});
