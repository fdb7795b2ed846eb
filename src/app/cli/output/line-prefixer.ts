const longestLine = 64 * 1024;

/**
 * Puts a label before every line of a byte stream, in pieces of any size. UTF-8 that is cut between two pieces is put
 * together again; bytes that are none become U+FFFD. A line without an end is held back until more comes, up to 64
 * KiB, so that a program that writes no line ends costs no memory. One instance per stream.
 */
export class LinePrefixer {
  readonly #label: string;
  readonly #decoder = new TextDecoder();
  #rest = "";

  constructor(label: string) {
    this.#label = label;
  }

  /** The whole lines that are complete now, each with the label; often the empty text. */
  push(chunk: Uint8Array): string {
    const text = this.#rest + this.#decoder.decode(chunk, { stream: true });
    const end = text.length > longestLine ? text.length : text.lastIndexOf("\n") + 1;
    this.#rest = text.slice(end);
    return this.#label === "" ? text.slice(0, end) : this.#labeled(text.slice(0, end));
  }

  /** What is left of a last line that had no end, with one. To be called once, after the last piece. */
  end(): string {
    const rest = this.#rest + this.#decoder.decode();
    this.#rest = "";
    return rest === "" ? "" : `${this.#label}${rest}\n`;
  }

  #labeled(text: string): string {
    if (text === "") return "";
    const isWhole = text.endsWith("\n");
    const lines = (isWhole ? text.slice(0, -1) : text).split("\n");
    return `${lines.map((line) => this.#label + line).join("\n")}\n`;
  }
}
