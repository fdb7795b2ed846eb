import { describe, expect, test } from "vitest";
import type { ArtifactSource } from "../results/store-artifact.ts";
import { chosenArtifacts } from "./chosen-artifacts.ts";
import { parseGlob } from "./glob.ts";

describe("a glob", () => {
  test.each([
    ["a.txt", "a.txt", true],
    ["./a.txt", "a.txt", true],
    ["a.txt", "b/a.txt", false],
    ["*.txt", "a.txt", true],
    ["*.txt", "b/a.txt", false],
    ["*", ".hidden", true],
    ["**/*.txt", "a.txt", true],
    ["**/*.txt", "b/c/a.txt", true],
    ["b/**/a.txt", "b/a.txt", true],
    ["b/**/a.txt", "b/c/d/a.txt", true],
    ["b/**/a.txt", "c/b/a.txt", false],
    ["b/**", "b/c/d", true],
    ["b/**", "b", false],
    ["**", "a/b", true],
    ["build", "build/out/x", true],
    ["build/", "build/x", true],
    ["bui", "build/x", false],
    ["**/build", "a/build/x", true],
    ["?.txt", "ä.txt", true],
    ["[a-c]x", "bx", true],
    ["[!a-c]x", "bx", false],
    ["[]]x", "]x", true],
    ["[x", "[x", true],
    ["*.{xml,trx}", "a.trx", true],
    ["{a,b/{c,d}}.txt", "b/d.txt", true],
    ["{a}.txt", "{a}.txt", true],
    ["\\*.txt", "*.txt", true],
    ["\\*.txt", "a.txt", false],
    ["a*b*c", "aXbXbc", true],
    ["a*b*c", "aXbX", false],
    ["", "a", false],
  ])("%j of %j is %j", (glob, path, expected) => {
    expect(parseGlob(glob)?.(path)).toBe(expected);
  });

  test.each(["/etc/passwd", "../x", "a/../../b", "C:\\x", "{a,b}".repeat(12)])("cannot be %j", (glob) => {
    expect(parseGlob(glob)).toBeUndefined();
  });

  test("takes little time, whatever it is", () => {
    const glob = parseGlob(`${"**/".repeat(50)}${"*a".repeat(100)}b`);
    expect(glob?.(`${"a/".repeat(100)}${"a".repeat(200)}`)).toBe(false);
  });
});

async function* files(...names: readonly string[]): AsyncGenerator<ArtifactSource, void> {
  for (const name of names) yield await Promise.resolve({ name, open: () => files() as never });
}

/** What is kept of a step that has left this, with a star for results of tests, and what is told. */
async function kept(
  artifacts: readonly string[],
  testResults: readonly string[],
  own: readonly string[],
  project: readonly string[],
) {
  const told: string[] = [];
  const names: string[] = [];
  const left = { artifacts: files(...own), project: () => files(...project) };
  for await (const source of chosenArtifacts({ artifacts, testResults }, left, (message) => told.push(message)))
    names.push(`${source.name}${source.testResults === true ? " *" : ""}`);
  return { names, told };
}

describe("what is kept of a step", () => {
  test("is all in its own directory, and of the project what its globs mean", async () => {
    const project = ["a.txt", "bin/app", "t/r.trx", "t/r.xml", ".git/app", "sub/.git/config"];
    expect(await kept(["bin", "**/*.trx", "**/config"], ["t/*"], ["x", "y/Z.TRX"], project)).toEqual({
      names: ["x", "y/Z.TRX *", "bin/app", "t/r.trx *", "t/r.xml *"],
      told: ['artifacts[2] "**/config" matches no file'],
    });
  });

  test("is told with globs that find nothing, and those that cannot", async () => {
    expect(await kept(["none/*", "../x"], ["*.trx"], [], ["a"])).toEqual({
      names: [],
      told: [
        'testResults[0] "*.trx" matches no file',
        'artifacts[0] "none/*" matches no file',
        'artifacts[1] "../x" leads out of the repository, or has too many alternatives',
      ],
    });
  });

  test("needs nothing of the project without globs", async () => {
    const left = { artifacts: files("x"), project: () => expect.unreachable() };
    const names: string[] = [];
    for await (const { name } of chosenArtifacts({ artifacts: [], testResults: [] }, left, () => undefined))
      names.push(name);
    expect(names).toEqual(["x"]);
  });
});
