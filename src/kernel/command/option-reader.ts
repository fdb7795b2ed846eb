import { parseDuration } from "#lib/base/index.ts";

// Options of `slipway up` for one dialect: a flag or a variable. Read apart from commander, which knows no variables,
// and with all problems at once.

/** Where options come from, and how files are found. */
export interface OptionSources {
  /** Commander's values: `--part-poll-hold` is `partPollHold`. */
  readonly options: object;
  /** Undefined if unset or empty. `--part-poll-hold` is `SLIPWAY_PART_POLL_HOLD`. */
  readonly variable: (name: string) => string | undefined;
  /** Makes a typed path absolute. */
  readonly resolve: (path: string) => string;
}

/** A value from a settings file. */
export interface SettingText {
  /** Its name there. */
  readonly by: string;
  readonly text: string;
}

/** Reads options, and collects their problems. */
export class OptionReader {
  /** For people, in the order of reading. */
  readonly problems: string[] = [];
  readonly #sources: OptionSources;
  readonly #prefix: string;
  readonly #settings: ReadonlyMap<string, SettingText>;

  /** `prefix` is the first word of all options. `settings` apply if neither option nor variable is set. */
  constructor(prefix: string, sources: OptionSources, settings: ReadonlyMap<string, SettingText> = new Map()) {
    this.#prefix = prefix;
    this.#sources = sources;
    this.#settings = settings;
  }

  /** The option, else its variable, else a setting. */
  text(name: string): string | undefined {
    return this.#said(name) ?? this.#settings.get(name)?.text;
  }

  /** Adds a problem of an option, or of the setting in its place. */
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

  /** Not checked for existence. */
  file(name: string): string | undefined {
    const path = this.text(name);
    return path === undefined ? undefined : this.#sources.resolve(path);
  }

  /** Go's syntax. Zero is allowed only with `zero`. */
  duration(name: string, least: "zero" | "positive" = "positive"): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const read = parseDuration(text);
    if (read.ok && (read.value > 0 || (least === "zero" && read.value === 0))) return read.value;
    const expected = least === "zero" ? "no negative duration" : "a duration above 0";
    this.problem(name, read.ok ? `expected ${expected}, found ${text}` : read.error);
    return undefined;
  }

  /** Decimal numbers without sign or exponent for which `isFine` holds; `expected` describes them. */
  number(name: string, expected: string, isFine: (value: number) => boolean): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (/^\d{1,9}(?:\.\d{1,9})?$/.test(text) && isFine(value)) return value;
    this.problem(name, `expected ${expected}, found ${JSON.stringify(text)}`);
    return undefined;
  }

  /** `host:port`, or undefined for `off`. `usual` is the default, which may be taken by others. */
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

  oneOf<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const text = this.text(name);
    const found = choices.find((choice) => choice === text);
    if (text !== undefined && found === undefined)
      this.problem(name, `expected ${choices.join(" or ")}, found ${JSON.stringify(text)}`);
    return found;
  }
}
