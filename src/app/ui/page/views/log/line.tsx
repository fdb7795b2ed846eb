import { useMemo } from "preact/hooks";
import { settings } from "../../data/settings.ts";
import { formatAbsolute } from "../../data/time.ts";
import { cutPieces, cutText, parseLine, type Piece, type Style } from "./ansi.ts";
import { splitLinks } from "./links.ts";
import type { StoredLine } from "./log-store.ts";

/** Characters of a line that are drawn; the rest is shown on demand. */
export const longestShown = 4000;
/** Read of a longer line: sequences may take much of it. */
const longestParsed = 16_384;

export type Stamps = "off" | "relative" | "absolute";

interface LogLineProps {
  readonly number: number;
  readonly line: StoredLine | undefined;
  readonly stamps: Stamps;
  /** Time of the first line. */
  readonly start: number | undefined;
  readonly search: string;
  readonly kind: string;
  /** Of a title: whether its section is open. */
  readonly isOpen: boolean | undefined;
}

const classOf = ({ text, ground, ...marks }: Style): string => {
  const [front, back] = marks.inverse === true ? [ground, text ?? 7] : [text, ground];
  return [
    // On a coloured ground the text has the theme's own colour, which can be read on all of them.
    back === undefined ? (front === undefined ? "" : `ansi-${front}`) : `ansi-ground ansi-ground-${back}`,
    ...(["bold", "dim", "italic", "underline"] as const).filter((name) => marks[name]).map((name) => `ansi-${name}`),
  ]
    .filter(Boolean)
    .join(" ");
};

const Found = ({ text, search }: { readonly text: string; readonly search: string }) => {
  if (search === "") return <>{text}</>;
  const parts: preact.ComponentChildren[] = [];
  const lower = text.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(search); at >= 0 && parts.length < 200; at = lower.indexOf(search, from)) {
    parts.push(text.slice(from, at), <mark key={at}>{text.slice(at, at + search.length)}</mark>);
    from = at + search.length;
  }
  return (
    <>
      {parts}
      {text.slice(from)}
    </>
  );
};

const Pieces = ({ pieces, search }: { readonly pieces: readonly Piece[]; readonly search: string }) => (
  <>
    {pieces.map(({ text, style }, index) => (
      <span key={index} class={classOf(style)}>
        {splitLinks(text).map(({ text: part, href }, at) =>
          href === undefined ? (
            <Found key={at} text={part} search={search} />
          ) : (
            <a key={at} href={href} target="_blank" rel="noreferrer noopener" tabIndex={-1}>
              <Found text={part} search={search} />
            </a>
          ),
        )}
      </span>
    ))}
  </>
);

function stampOf(time: number | undefined, start: number | undefined, stamps: Stamps): string {
  if (stamps === "off" || time === undefined) return "";
  if (stamps === "relative") return `+${(Math.max(0, time - (start ?? time)) / 1000).toFixed(2)}s`;
  return formatAbsolute(time, settings.zone.value);
}

/** Its buttons are of the classes `log-number`, `log-title` and `link`: who draws the lines listens to all of them. */
export function LogLineRow(props: LogLineProps) {
  const { number, line, stamps, start, search, kind, isOpen } = props;
  // Most of what is drawn while one scrolls was there before.
  return useMemo(
    () => (
      <div class={`log-line ${kind}`} data-line={number}>
        <button type="button" class="log-number" tabIndex={-1} aria-label={`Select line ${number}`}>
          {number}
        </button>
        {stamps !== "off" && <span class="log-stamp">{stampOf(line?.time, start, stamps)}</span>}
        <span class="log-stream">{line?.stream === "stderr" && <abbr title="Standard error">err</abbr>}</span>
        <span class="log-text">
          {line === undefined ? (
            <span class="muted">…</span>
          ) : isOpen === undefined ? (
            <Text line={line} search={search} />
          ) : (
            <button type="button" class="log-title" tabIndex={-1} aria-expanded={isOpen}>
              {line.mark?.is === "group" ? cutText(line.mark.title, longestShown) : "Group"}
            </button>
          )}
        </span>
      </div>
    ),
    [number, line, stamps, start, search, kind, isOpen, settings.zone.value],
  );
}

function Text({ line, search }: { readonly line: StoredLine; readonly search: string }) {
  const { mark } = line;
  const own = mark !== undefined && "text" in mark ? mark.text : line.text;
  const { pieces } = parseLine(own.length > longestParsed ? cutText(own, longestParsed) : own, line.style);
  return (
    <>
      {mark !== undefined && "text" in mark && <strong class="log-mark">{mark.is} </strong>}
      <Pieces pieces={cutPieces(pieces, longestShown)} search={search} />
      {own.length > longestShown && (
        <button type="button" class="link" tabIndex={-1}>
          … show all {own.length.toLocaleString("en")} characters
        </button>
      )}
    </>
  );
}
