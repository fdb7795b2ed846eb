import { err, ok, type Result } from "#lib/base/index.ts";

/** A flag of the command line, in the manner of the original's. */
export interface Flag {
  readonly name: string;
  readonly letter?: string;
  /** Absent: the flag has no value. */
  readonly value?: string;
  readonly summary: string;
  /** What it is in a query. */
  readonly query?: string;
  /** Accepted, not shown: an older spelling. */
  readonly hidden?: true;
}

export interface Parsed {
  readonly words: readonly string[];
  /** By name; `true` for flags without a value. The last one counts. */
  readonly flags: ReadonlyMap<string, string | true>;
}

export const globalFlags: readonly Flag[] = [
  { name: "endpoint", letter: "E", value: "url", summary: "server to talk to ($RS_ENDPOINT, $RS_ENDPOINTS)" },
  { name: "username", letter: "U", value: "name", summary: "user ($RS_KEY)" },
  { name: "password", letter: "P", value: "text", summary: "password of the user ($RS_KEY)" },
  { name: "token", letter: "T", value: "text", summary: "token instead of a user ($RS_TOKEN)" },
  { name: "format", letter: "F", value: "name", summary: "output: json, yaml, text or table ($RS_FORMAT)" },
  { name: "print-fields", letter: "J", value: "names", summary: "fields of text and table ($RS_PRINT_FIELDS)" },
  { name: "no-header", letter: "H", summary: "no header in text and table ($RS_NO_HEADER)" },
  { name: "truncate-length", letter: "j", value: "n", summary: "longest cell of text and table (40)" },
  { name: "force", letter: "f", summary: "force the change, where the server allows that" },
  { name: "ref", letter: "r", value: "object", summary: "object to compare with: file, YAML or JSON" },
  { name: "exit-early", letter: "X", summary: "exit with 1 if an object has Errors" },
  { name: "no-token", letter: "x", summary: "send the password with each request" },
  { name: "ca", value: "file", summary: "authority that signs the server's certificate" },
  { name: "fingerprint", value: "sha256", summary: "fingerprint of the server's certificate" },
  { name: "help", letter: "h", summary: "help for a command" },
  // Without effect here.
  { name: "catalog", letter: "c", value: "url", summary: "", hidden: true },
  { name: "colors", letter: "C", value: "list", summary: "", hidden: true },
  { name: "debug", letter: "d", summary: "", hidden: true },
  { name: "download-proxy", letter: "D", value: "url", summary: "", hidden: true },
  { name: "no-color", letter: "N", summary: "", hidden: true },
  { name: "trace", letter: "t", value: "level", summary: "", hidden: true },
  { name: "trace-token", letter: "Z", value: "text", summary: "", hidden: true },
  { name: "url-proxy", letter: "u", value: "url", summary: "", hidden: true },
];

/** Older spellings of flags. */
const spellings: Readonly<Record<string, string>> = {
  traceToken: "trace-token",
  noToken: "no-token",
  exitEarly: "exit-early",
  skipPower: "skip-power",
  stateDir: "state-dir",
  replaceWritable: "replace-writable",
};

/** Flags may stand anywhere; after `--` everything is a word. The error is the original's text. */
export function parseArguments(given: readonly string[], flags: readonly Flag[]): Result<Parsed, string> {
  const words: string[] = [];
  const found = new Map<string, string | true>();
  for (let at = 0; at < given.length; at++) {
    const word = given[at] ?? "";
    if (word === "--") {
      words.push(...given.slice(at + 1));
      break;
    }
    if (!word.startsWith("-") || word === "-") {
      words.push(word);
      continue;
    }
    const taken = word.startsWith("--") ? longFlag(word, flags) : shortFlags(word, flags);
    if (!taken.ok) return taken;
    for (const { flag, value } of taken.value) {
      if (flag.value === undefined) {
        if (value !== "false") found.set(flag.name, true);
      } else if (value !== undefined) found.set(flag.name, value);
      else if (at + 1 < given.length) found.set(flag.name, given[++at] ?? "");
      else return err(`flag needs an argument: ${word}`);
    }
  }
  return ok({ words, flags: found });
}

interface Taken {
  readonly flag: Flag;
  readonly value?: string;
}

function longFlag(word: string, flags: readonly Flag[]): Result<readonly Taken[], string> {
  const [, given = "", , value] = /^--([^=]*)(=(.*))?$/s.exec(word) ?? [];
  const name = spellings[given] ?? given;
  const flag = flags.find((each) => each.name === name);
  if (flag === undefined) return err(`unknown flag: --${given}`);
  return ok([value === undefined ? { flag } : { flag, value }]);
}

/** `-xf`, `-Ttoken`, `-T=token`. */
function shortFlags(word: string, flags: readonly Flag[]): Result<readonly Taken[], string> {
  const taken: Taken[] = [];
  for (let rest = word.slice(1); rest !== ""; rest = rest.slice(1)) {
    const flag = flags.find(({ letter }) => letter === rest[0]);
    if (flag === undefined) return err(`unknown shorthand flag: '${rest[0]}' in ${word}`);
    const value = rest.slice(1).replace(/^=/, "");
    if (flag.value === undefined) taken.push({ flag });
    else return ok([...taken, value === "" ? { flag } : { flag, value }]);
  }
  return ok(taken);
}
