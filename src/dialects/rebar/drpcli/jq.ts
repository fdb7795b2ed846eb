import { CliError } from "./verb.ts";

export interface JqSurroundings {
  readText(file: string): Promise<string>;
  readStdin(): Promise<string>;
}

export interface JqEnd {
  readonly out: string;
  readonly err: string;
  readonly code: number;
}

interface Question {
  readonly filter: string;
  readonly flags: readonly string[];
  readonly files: readonly string[];
  readonly isJoined: boolean;
  readonly tellsByCode: boolean;
  readonly readsNothing: boolean;
}

/** How many words follow an option. */
const operands: Readonly<Record<string, number>> = {
  "--arg": 2,
  "--argjson": 2,
  "--slurpfile": 2,
  "--rawfile": 2,
  "--indent": 1,
};

/** `jq` for scripts on machines without it: jq itself, compiled to WebAssembly. */
export async function runJq(words: readonly string[], around: JqSurroundings): Promise<JqEnd> {
  const question = await questionOf(words, around);
  const { raw } = await import("jq-wasm");
  const { files, filter, flags, isJoined, readsNothing } = question;
  const inputs = files.length > 0 ? await Promise.all(files.map((file) => around.readText(file))) : [];
  const input =
    readsNothing && files.length === 0 ? "" : files.length > 0 ? inputs.join("\n") : await around.readStdin();
  // Without input there is nothing to print, as in jq.
  if (input.trim() === "" && !readsNothing && !/^-\w*[sR]|^--slurp$|^--raw-input$/m.test(flags.join("\n")))
    return { out: "", err: "", code: question.tellsByCode ? 4 : 0 };
  try {
    const out = await raw(input, filter, [...flags]);
    return { out: isJoined || out === "" ? out : `${out}\n`, err: "", code: codeOf(out, question) };
  } catch (thrown) {
    const said = thrown instanceof Error ? thrown.message : String(thrown);
    const message = said.replace(/^Failed to execute raw query: /, "");
    return { out: "", err: `${message}\n`, code: /compile error/.test(message) ? 3 : 5 };
  }
}

/** With -e: 1 for null and false, 4 without a result. */
function codeOf(out: string, { tellsByCode }: Question): number {
  if (!tellsByCode) return 0;
  const last = out.trimEnd().split("\n").at(-1) ?? "";
  if (out.trim() === "") return 4;
  return last === "null" || last === "false" ? 1 : 0;
}

async function questionOf(words: readonly string[], around: JqSurroundings): Promise<Question> {
  const flags: string[] = [];
  const plain: string[] = [];
  let filterFile: string | undefined;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    if (word === "--args" || word === "--jsonargs") {
      flags.push(word, ...words.slice(at + 1));
      break;
    }
    if (word === "-f" || word === "--from-file") filterFile = words[++at] ?? "";
    else if (word === "--slurpfile" || word === "--rawfile") {
      const [name = "", file = ""] = words.slice(at + 1, at + 3);
      const text = await around.readText(file);
      flags.push(...(word === "--rawfile" ? ["--arg", name, text] : ["--argjson", name, `[${text}]`]));
      at += 2;
    } else if (word.startsWith("-") && word !== "-") {
      const count = operands[word] ?? 0;
      flags.push(...words.slice(at, at + count + 1));
      at += count;
    } else plain.push(word);
  }
  const filter = filterFile === undefined ? (plain.shift() ?? ".") : await around.readText(filterFile);
  const short = flags.filter((flag) => /^-\w/.test(flag)).join("");
  const has = (letter: string, long: string) => short.includes(letter) || flags.includes(long);
  if (filter === "") throw new CliError("jq: expected a filter");
  return {
    filter,
    // Their effect is on exit codes and colours, which are dealt with here.
    flags: flags.map((flag) => (/^-\w+$/.test(flag) ? flag.replaceAll(/[eCM]/g, "") : flag)).filter(isEffective),
    files: plain.filter((file) => file !== "-"),
    isJoined: has("j", "--join-output"),
    tellsByCode: has("e", "--exit-status"),
    readsNothing: has("n", "--null-input"),
  };
}

const isEffective = (flag: string): boolean =>
  !["-", "--exit-status", "--color-output", "--monochrome-output"].includes(flag);
