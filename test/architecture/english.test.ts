import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { commands } from "#app/cli/commands/index.ts";
import { readSource, root, sourceFiles, walk } from "./sources.ts";

// What users read is plain technical English. These patterns are the ones that readers stumble over most; each has a plain replacement.

const patterns: readonly (readonly [RegExp, string])[] = [
  [/\bwho(?:ever)? (?:has|asks|wants|wonders|reads|comes|gets)\b/i, "name the user, or write to the reader"],
  [/\bsomebody(?:'s| else)?\b/i, "another user, a name"],
  [/\bnobody\b/i, "no user, not set"],
  [/\bcarr(?:y|ies|ied) out\b/i, "run"],
  [/\b(?:is|are|was|were|has|have) told\b/i, "is reported, is printed, receives"],
  [/\bthere is no more\b|\bnot there any more\b/i, "no longer exists"],
  [/\bcomes? to (?:its|their) end\b/i, "ends"],
  [/\bbring(?:s)? (?:the|it|them) to\b/i, "move, update"],
  [/\bis as good as\b/i, "counts as"],
  [/\buntil a signal\b/i, "until interrupted"],
  [/\bto try .* out\b/i, "to test"],
  [/\bwhat is as it was\b/i, "unchanged"],
  [/\bwhat (?:failed|it|they|we|is|was|has|have) [^,.;?]* (?:stays|comes|goes)\b/i, "a sentence with a subject"],
  [/\bset to nothing\b/i, "empty"],
  [/\bhow much is told\b/i, "verbosity"],
];

/** What is wrong with a text, for people. */
const faultsOf = (text: string): readonly string[] =>
  patterns.flatMap(([pattern, better]) => {
    const found = pattern.exec(text)?.[0];
    return found === undefined ? [] : [`"${found}" (${better})`];
  });

const inWords = (place: string, text: string): readonly string[] =>
  faultsOf(text).map((fault) => `${place}: ${fault} in: ${text.slice(0, 100)}`);

test("the patterns find what they are for, and leave plain English alone", () => {
  expect(faultsOf("a token that nobody has, carried out until a signal")).toHaveLength(3);
  expect(faultsOf("keep the working directories of failed steps")).toEqual([]);
});

test("help texts are plain English", () => {
  const faults = commands.flatMap(({ name, summary, options }) => [
    ...inWords(name, summary),
    ...options.flatMap((option) => inWords(`${name} ${option.flags}`, option.summary)),
  ]);
  expect(faults).toEqual([]);
});

test("README, guides and reference are plain English", () => {
  const pages = ["README.md", ...["docs/guides", "docs/reference"].flatMap(pagesIn)];
  const faults = pages.flatMap((page) => {
    const prose = readFileSync(`${root}${page}`, "utf8").replace(/^```.*?^```$/gms, "");
    return prose.split(/\n\n|\n(?=[|-])/).flatMap((text) => inWords(page, text.replaceAll("\n", " ")));
  });
  expect(faults).toEqual([]);
});

const pagesIn = (folder: string): readonly string[] =>
  readdirSync(`${root}${folder}`).flatMap((name) => (name.endsWith(".md") ? `${folder}/${name}` : []));

/** Texts in the sources that hold several words, where messages are made: literals and the pieces of templates. */
function textsIn(tree: unknown): readonly string[] {
  const found: string[] = [];
  walk(tree, ({ type, value }) => {
    if (type === "Literal" && typeof value === "string") found.push(value);
    if (type === "TemplateElement") found.push((value as { readonly raw: string }).raw);
    return true;
  });
  return found;
}

test("messages and descriptions in the sources are plain English", () => {
  const sources = sourceFiles("src").filter((path) => !/\.(?:test|contract)\.ts$|\/testing\/|\/gen\//.test(path));
  const faults = sources.flatMap((path) =>
    textsIn(readSource(path).program.body)
      .filter((text) => text.trim().split(" ").length > 2)
      .flatMap((text) => inWords(path, text)),
  );
  expect(faults).toEqual([]);
});
