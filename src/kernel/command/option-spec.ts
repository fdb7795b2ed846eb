/** An option of a command, from which help, completion and `docs/reference/cli.md` are generated. */
export interface OptionSpec {
  /** In commander's notation: `-f, --follow`, `--param <name=value...>`. */
  readonly flags: string;
  readonly summary: string;
  /** Commander refuses other values. */
  readonly choices?: readonly string[];
  /** Default value, shown in the help. */
  readonly initial?: string | number | boolean;
  /** Collects a list. */
  readonly repeatable?: boolean;
  /** A whole number from 0 on. */
  readonly integer?: boolean;
  /**
   * The value if it is omitted, for an option with choices. A following word that is no choice does not belong to it.
   */
  readonly preset?: string;
  /** Its value is how often it was given. */
  readonly counted?: boolean;
  /** A heading in the help, after options without one. */
  readonly heading?: string;
}

/** Makes options with a value and this prefix, under a heading of their own. */
export const prefixedOption =
  (prefix: string, heading: string) =>
  (name: string, value: string, summary: string): OptionSpec => ({
    flags: `--${prefix}-${name} <${value}>`,
    summary,
    heading,
  });

/** The same for options without a value. */
export const prefixedFlag =
  (prefix: string, heading: string) =>
  (name: string, summary: string): OptionSpec => ({ flags: `--${prefix}-${name}`, summary, heading });
