import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./slipway.ts";

/** A fenced block of a page. */
export interface Block {
  readonly page: string;
  readonly line: number;
  readonly language: string;
  readonly text: string;
}

/** The fenced blocks of a page of this repository, in their order. */
export function blocksOf(page: string): readonly Block[] {
  const lines = readFileSync(join(root, page), "utf8").split("\n");
  const blocks: Block[] = [];
  let opened: { readonly line: number; readonly language: string } | undefined;
  for (const [index, line] of lines.entries()) {
    const language = /^```(\w*)$/.exec(line)?.[1];
    if (language === undefined) continue;
    if (opened === undefined) opened = { line: index + 1, language };
    else {
      blocks.push({ page, ...opened, text: lines.slice(opened.line, index).join("\n") });
      opened = undefined;
    }
  }
  return blocks;
}

/** The commands of a block: its lines without comments. */
export const commandsOf = ({ text }: Block): readonly string[] =>
  text
    .split("\n")
    .map((line) => line.replace(/\s+#.*$|^#.*$/, "").trim())
    .filter((line) => line !== "");

/** Whether output is as a page shows it: a line `...` stands for any lines, `…` within a line for any text, and spaces for any number of them. */
export function isAsShown(shown: string, out: string): boolean {
  const lineOf = (line: string) => {
    const words = line.trimEnd().split(/ +/);
    return words.map((word) => word.split("…").map(escapeText).join(".*")).join(" +");
  };
  const pattern = shown.split("\n").map((line) => (line === "..." ? "(?:.*\\n)*?" : `${lineOf(line)} *\\n`));
  return new RegExp(`^${pattern.join("")}$`).test(`${out.trimEnd()}\n`);
}

const escapeText = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
