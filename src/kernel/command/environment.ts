import { homedir } from "node:os";
import { resolve } from "node:path";
import { isatty } from "node:tty";

/** The surroundings of a command line, read once and passed as an argument. */
export interface Environment {
  /** Undefined if unset or empty. */
  readonly variable: (name: string) => string | undefined;
  /** For credential commands of a kubeconfig. */
  readonly all: Readonly<Record<string, string | undefined>>;
  /** The user's home directory, absolute. */
  readonly home: string;
  /** The base of relative paths, absolute. */
  readonly directory: string;
  /** Data only, for pipes. */
  readonly out: Output;
  /** Everything else: progress, remarks, errors, the live view. */
  readonly err: Output;
}

/** `write` never throws; a closed reader ends the program quietly. */
export interface Output {
  /** False also with TERM=dumb. */
  readonly isTerminal: boolean;
  /** Read for each drawing; 120 if unknown. */
  readonly columns: number;
  readonly rows: number;
  /** By `--color`, `NO_COLOR` (no-color.org), `FORCE_COLOR`, or whether this is a terminal. */
  readonly color: boolean;
  /** False for a locale other than UTF-8: only ASCII is drawn. */
  readonly unicode: boolean;
  /** Written bytes that the reader has not taken; 0 once it is gone. */
  readonly backlog: number;
  /** Adds no newline. */
  write(text: string): void;
}

/** `--color`; `auto` leaves it to variables and terminal. */
export type ColorChoice = "auto" | "always" | "never";

/** The only place that reads the process. Empty variables count as unset. */
export function readEnvironment(color: ColorChoice = "auto"): Environment {
  const variable = (name: string) => (process.env[name] === "" ? undefined : process.env[name]);
  return {
    variable,
    all: process.env,
    home: homedir(),
    directory: process.cwd(),
    out: outputOf(process.stdout, 1, variable, color),
    err: outputOf(process.stderr, 2, variable, color),
  };
}

export type OutputStyle = Pick<Output, "isTerminal" | "color" | "unicode">;

/**
 * `isTty` comes from the system. Colour: `--color`, then `NO_COLOR` with any value, then `FORCE_COLOR`, of which `0`
 * means no, then the terminal. Unicode: the first locale variable that is set, in POSIX's order.
 */
export function styleOf(isTty: boolean, variable: Environment["variable"], color: ColorChoice): OutputStyle {
  const isTerminal = isTty && variable("TERM") !== "dumb";
  return {
    isTerminal,
    color: wantsColor(isTerminal, variable, color),
    unicode: /utf-?8/i.test(variable("LC_ALL") ?? variable("LC_CTYPE") ?? variable("LANG") ?? ""),
  };
}

function wantsColor(isTerminal: boolean, variable: Environment["variable"], color: ColorChoice): boolean {
  if (color !== "auto") return color === "always";
  if (variable("NO_COLOR") !== undefined) return false;
  const forced = variable("FORCE_COLOR");
  return forced === undefined ? isTerminal : forced !== "0";
}

const outputOf = (
  stream: NodeJS.WriteStream,
  fd: number,
  variable: Environment["variable"],
  color: ColorChoice,
): Output => ({
  ...styleOf(isatty(fd), variable, color),
  get columns() {
    // Some terminals say 0 for unknown.
    return stream.columns || 120;
  },
  get rows() {
    return stream.rows || 24;
  },
  get backlog() {
    return stream.writable ? stream.writableLength : 0;
  },
  write: (text) => void stream.write(text),
});

/** `$SLIPWAY_DATA_DIR`, else `~/.slipway`. */
export const defaultDataDirectory = ({ variable, home }: Environment): string =>
  variable("SLIPWAY_DATA_DIR") ?? `${home}/.slipway`;

/** The data directory of a command: the given one, else the default; absolute. */
export const dataDirectoryOf = (environment: Environment, given: string | undefined): string =>
  resolve(environment.directory, given ?? defaultDataDirectory(environment));
