import { parseDuration } from "#lib/base/index.ts";
import type { OptionSpec } from "./command.ts";

// Options of `slipway up` that are about one language: a flag, or else a variable. They are read apart from commander's, which knows nothing of
// variables, and everything that is wrong with them is told at once.

/** Makes options with a value whose first word is `prefix`, as of an `OptionReader`, under a heading of the help that keeps them from hiding others. */
export const prefixedOption =
  (prefix: string, heading: string) =>
  (name: string, value: string, summary: string): OptionSpec => ({
    flags: `--${prefix}-${name} <${value}>`,
    summary,
    heading,
  });

/** The same for options without a value; `OptionReader.flag` reads them. */
export const prefixedFlag =
  (prefix: string, heading: string) =>
  (name: string, summary: string): OptionSpec => ({ flags: `--${prefix}-${name}`, summary, heading });

/** Where options of the command line come from, and how files are found. */
export interface OptionSources {
  /** Commander's values: `--part-poll-hold` is `partPollHold`. */
  readonly options: object;
  /** Answers undefined for what is unset or empty. `--part-poll-hold` is `SLIPWAY_PART_POLL_HOLD`. */
  readonly variable: (name: string) => string | undefined;
  /** A path as it was typed, made absolute. */
  readonly resolve: (path: string) => string;
}

/** What a file of settings says, as an option would have been typed. */
export interface SettingText {
  /** Its name there. */
  readonly by: string;
  readonly text: string;
}

/** Reads single options, and keeps what is wrong with them. */
export class OptionReader {
  /** In the order in which options are read, each for people and complete. */
  readonly problems: string[] = [];
  readonly #sources: OptionSources;
  readonly #prefix: string;
  readonly #settings: ReadonlyMap<string, SettingText>;

  /** `prefix` is the first word of all options. `settings` apply where neither an option nor its variable is set, by the option's name. */
  constructor(prefix: string, sources: OptionSources, settings: ReadonlyMap<string, SettingText> = new Map()) {
    this.#prefix = prefix;
    this.#sources = sources;
    this.#settings = settings;
  }

  /** The option, else its variable, else a setting. */
  text(name: string): string | undefined {
    return this.#said(name) ?? this.#settings.get(name)?.text;
  }

  /** Keeps that something is wrong with an option, or with the setting that stands for it. */
  problem(name: string, message: string): void {
    const setting = this.#said(name) === undefined ? this.#settings.get(name)?.by : undefined;
    this.problems.push(`${setting ?? `--${this.#prefix}-${name}`}: ${message}`);
  }

  #said(name: string): string | undefined {
    const member = `${this.#prefix}-${name}`.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
    const { options, variable } = this.#sources;
    const given = new Map<string, unknown>(Object.entries(options)).get(member);
    return typeof given === "string" || given === true
      ? `${given}`
      : variable(`SLIPWAY_${`${this.#prefix}-${name}`.toUpperCase().replaceAll("-", "_")}`);
  }

  /** Whether it is there, and what it holds, is for whoever opens it. */
  file(name: string): string | undefined {
    const path = this.text(name);
    return path === undefined ? undefined : this.#sources.resolve(path);
  }

  /** Go's syntax, as in documents. Zero is a time only where it has a meaning of its own. */
  duration(name: string, least: "zero" | "positive" = "positive"): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const read = parseDuration(text);
    if (read.ok && (read.value > 0 || (least === "zero" && read.value === 0))) return read.value;
    const expected = least === "zero" ? "no negative duration" : "a duration above 0";
    this.problem(name, read.ok ? `expected ${expected}, found ${text}` : read.error);
    return undefined;
  }

  /** `isFine` is asked about decimal numbers without sign or exponent, and says of them what `expected` does. */
  number(name: string, expected: string, isFine: (value: number) => boolean): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (/^\d{1,9}(?:\.\d{1,9})?$/.test(text) && isFine(value)) return value;
    this.problem(name, `expected ${expected}, found ${JSON.stringify(text)}`);
    return undefined;
  }

  /** `host:port`, or undefined for `off`. `usual` is where nobody says it: it is given up when something else has it. */
  listen(name: string, usual: string): { readonly address: string; readonly isUsual: boolean } | undefined {
    const text = this.text(name);
    if (text === "off") return undefined;
    const [, port = ""] = /^(?:\[[0-9a-f:.]+\]|[^\s:/[\]]+):(\d{1,5})$/i.exec(text ?? usual) ?? [];
    if (port === "" || Number(port) > 65_535)
      this.problem(name, `expected HOST:PORT or off, found ${JSON.stringify(text)}`);
    return { address: text ?? usual, isUsual: text === undefined };
  }

  /** An option without a value; its variable is `true` or `false`. */
  flag(name: string): boolean {
    return this.oneOf(name, ["true", "false"]) === "true";
  }

  /** Checked here and not by commander, which knows nothing of variables. */
  oneOf<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const text = this.text(name);
    const found = choices.find((choice) => choice === text);
    if (text !== undefined && found === undefined)
      this.problem(name, `expected ${choices.join(" or ")}, found ${JSON.stringify(text)}`);
    return found;
  }
}
