import type { Signal } from "@preact/signals";
import { confirmAloud } from "../../data/page.ts";
import { href } from "../../data/router.ts";
import type { LineRange } from "./line-range.ts";
import type { Stamps } from "./line.tsx";
import { errorPattern } from "./log-marks.ts";
import type { LogModel } from "./log-model.ts";

interface LogToolsProps {
  readonly model: LogModel;
  readonly stamps: Signal<Stamps>;
  readonly isWrapped: Signal<boolean>;
  readonly isFollowing: Signal<boolean>;
  readonly selection: LineRange | undefined;
  readonly fileName: string;
  /** Of the log alone. */
  readonly page: string;
  readonly onSearch: (direction: 1 | -1) => () => void;
  readonly onError: (direction: 1 | -1) => () => void;
  readonly onCopy: () => void;
}

const isStamps = (text: string): text is Stamps => ["off", "relative", "absolute"].includes(text);

const Toggle = ({ label, on }: { readonly label: string; readonly on: Signal<boolean> }) => (
  <button
    type="button"
    aria-pressed={on.value}
    onClick={() => {
      on.value = !on.peek();
    }}
  >
    {label}
  </button>
);

export function LogTools(props: LogToolsProps) {
  const { model, stamps, selection } = props;
  const errors = model.errors.value.length;
  const total = model.store.total.value;
  return (
    <div class="log-tools" role="group" aria-label="Log tools">
      <Search {...props} />
      <span class="log-group">
        <button type="button" disabled={errors === 0} onClick={props.onError(-1)} aria-label="Previous error">
          ↑
        </button>
        <button type="button" disabled={errors === 0} onClick={props.onError(1)} aria-label="Next error">
          ↓
        </button>
        <span class={errors === 0 ? "muted" : "wrong"}>
          {errors} {errors === 1 ? "error" : "errors"}
        </span>
      </span>
      {!model.store.isOver.value && <Toggle label="Follow" on={props.isFollowing} />}
      <Toggle label="Wrap" on={props.isWrapped} />
      <label class="log-group">
        Times
        <select
          value={stamps.value}
          onChange={({ currentTarget: { value } }) => {
            if (isStamps(value)) stamps.value = value;
          }}
        >
          <option value="off">off</option>
          <option value="relative">relative</option>
          <option value="absolute">absolute</option>
        </select>
      </label>
      <details class="log-more">
        <summary>More</summary>
        <div class="log-menu">
          <label class="field">
            Error pattern (regular expression)
            <input
              value={model.errorPattern.value}
              placeholder="the usual errors"
              spellcheck={false}
              aria-invalid={errorPattern(model.errorPattern.value) === undefined}
              onInput={(event) => {
                model.errorPattern.value = event.currentTarget.value;
              }}
            />
          </label>
          {errorPattern(model.errorPattern.value) === undefined && (
            <p class="wrong">This is not a regular expression.</p>
          )}
          <button type="button" onClick={props.onCopy}>
            {selection === undefined ? "Copy all lines" : `Copy lines ${selection.first} to ${selection.last}`}
          </button>
          <button type="button" onClick={() => void download(model, props.fileName)}>
            Download
          </button>
          <a href={href(props.page)}>Open on a page of its own</a>
          <p class="muted">Click a line number to select it, with Shift up to it. The address keeps the selection.</p>
        </div>
      </details>
      {model.store.first.value > 0 && (
        <span class="muted">lines before {(model.store.first.value + 1).toLocaleString("en")} are not kept</span>
      )}
      <span class="muted number">
        {total.toLocaleString("en")} {total === 1 ? "line" : "lines"}
      </span>
    </div>
  );
}

function Search({ model, selection, onSearch }: LogToolsProps) {
  const { count, lines } = model.matches.value;
  const at = lines.indexOf((selection?.first ?? 0) - 1) + 1;
  const text = model.search.value;
  return (
    <form
      class="log-search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        onSearch(1)();
      }}
    >
      <input
        type="search"
        aria-label="Search the log"
        placeholder="Search"
        value={text}
        spellcheck={false}
        onInput={(event) => model.searchFor(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      {text !== "" && (
        <>
          <span class="muted number" role="status">
            {model.isSearching.value ? "searching…" : `${at > 0 ? `${at} of ` : ""}${count.toLocaleString("en")}`}
          </span>
          <button type="button" disabled={count === 0} onClick={onSearch(-1)} aria-label="Previous match">
            ↑
          </button>
          <button type="button" disabled={count === 0} onClick={onSearch(1)} aria-label="Next match">
            ↓
          </button>
          <Toggle label="Matches only" on={model.isFiltered} />
        </>
      )}
    </form>
  );
}

/** The bytes as they were written, sequences included. */
async function download(model: LogModel, name: string): Promise<void> {
  const bytes = await model.raw().catch(() => undefined);
  if (bytes === undefined) return confirmAloud("The server does not answer: nothing was downloaded");
  const url = URL.createObjectURL(bytes);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
