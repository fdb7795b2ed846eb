import { useSignal } from "@preact/signals";
import { useErrorBoundary } from "preact/hooks";
import { approvals } from "../data/approvals.ts";
import { announcement, confirmation, copy, offer, type PaletteEntry } from "../data/page.ts";
import { matchPath } from "../data/path.ts";
import { goBack, href, navigate, path } from "../data/router.ts";
import { settings } from "../data/settings.ts";
import { lazy } from "../views/lazy.tsx";
import { routes } from "../views/routes.ts";
import { View as Runs } from "../views/runs.tsx";
import { ConnectionBar } from "./connection-bar.tsx";
import { Help } from "./help.tsx";
import { useKeys } from "./hooks.ts";
import { Palette } from "./palette.tsx";
import { Preferences } from "./preferences.tsx";
import { Empty, Failure } from "./states.tsx";

type Opened = "palette" | "help" | "preferences" | undefined;

export function Frame() {
  const opened = useSignal<Opened>(undefined);
  const open = (what: Opened) => () => {
    opened.value = what;
  };
  const close = open(undefined);
  const extra: readonly PaletteEntry[] = [
    { label: "Preferences: theme, rows, times, shortcuts", run: open("preferences") },
    { label: "Keyboard shortcuts", hint: "?", run: open("help") },
    { label: "Copy the command that shows this page", hint: ".", run: copyCommand },
    { label: "Copy the reference", hint: "y", run: copyReference },
    {
      label: "Times: relative or absolute",
      hint: "preference",
      run: () => {
        settings.times.value = settings.times.peek() === "relative" ? "absolute" : "relative";
      },
    },
    ...(["system", "light", "dark", "contrast"] as const).map((theme) => ({
      label: `Theme: ${theme}`,
      hint: "preference",
      run: () => {
        settings.theme.value = theme;
      },
    })),
  ];
  useFrameKeys(open);
  return (
    <div class="frame">
      <a class="skip-link" href="#main">
        Skip to content
      </a>
      <header class="frame-header">
        <a class="brand" href={href("/runs")}>
          Slipway
        </a>
        <button type="button" class="search-button" onClick={open("palette")}>
          <span class="cut">Go to or do anything</span>
          <kbd>Ctrl K</kbd>
        </button>
        <button type="button" class="quiet" onClick={open("help")} aria-label="Keyboard shortcuts">
          ?
        </button>
        <button type="button" class="quiet" onClick={open("preferences")}>
          Preferences
        </button>
      </header>
      <Navigation />
      <ConnectionBar />
      <main id="main" tabIndex={-1}>
        <Page />
      </main>
      <div class="only-heard" aria-live="polite">
        {announcement.value}
      </div>
      {confirmation.value !== "" && (
        <p class="confirmation" aria-hidden="true">
          {confirmation.value}
        </p>
      )}
      {opened.value === "palette" && <Palette extra={extra} onClose={close} />}
      {opened.value === "help" && <Help onClose={close} />}
      {opened.value === "preferences" && <Preferences onClose={close} />}
    </div>
  );
}

function copyCommand(): void {
  const { command } = offer.peek();
  if (command !== undefined) void copy(command, "command");
}

function copyReference(): void {
  void copy(offer.peek().reference ?? location.href, "reference");
}

function useFrameKeys(open: (what: Opened) => () => void): void {
  useKeys([
    { keys: "Ctrl+k", label: "Go to any page, run or object, run any action", run: open("palette") },
    { keys: "?", label: "Show these shortcuts", run: open("help") },
    { keys: "Escape", label: "Back", run: goBack },
    { keys: "y", label: "Copy the reference", run: copyReference },
    { keys: ".", label: "Copy the command that shows this page", run: copyCommand },
    ...routes.flatMap(({ nav }) =>
      nav === undefined ? [] : [{ keys: nav.keys, label: `Go to ${nav.label}`, run: () => navigate(nav.path) }],
    ),
  ]);
}

function Navigation() {
  return (
    <nav class="frame-nav" aria-label="Pages">
      <ul>
        {routes.map(({ nav }) => {
          if (nav === undefined) return null;
          const isHere = path.value === nav.path || path.value.startsWith(`${nav.path}/`);
          return (
            <li key={nav.path}>
              <a href={href(nav.path)} aria-current={isHere ? "page" : undefined}>
                {nav.label}
                {nav.path === "/approvals" && approvals.value.size > 0 && (
                  <span class="count">
                    {approvals.value.size}
                    <span class="only-heard"> waiting</span>
                  </span>
                )}
              </a>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

const pages = routes.map(({ pattern, load }) => ({
  pattern,
  View: load === undefined ? Runs : lazy(async () => (await load()).View),
}));

/** The page of the path. */
function Page() {
  for (const { pattern, View } of pages) {
    const params = matchPath(pattern, path.value);
    if (params !== undefined)
      return (
        <Bounded key={path.value}>
          <View params={params} />
        </Bounded>
      );
  }
  return (
    <>
      <h1 tabIndex={-1}>Not found</h1>
      <Empty title="There is no such page">
        <p>
          <a href={href("/runs")}>All runs</a>
        </p>
      </Empty>
    </>
  );
}

/** A mistake in one view leaves the frame usable. */
function Bounded({ children }: { readonly children: preact.ComponentChildren }) {
  const [thrown, reset] = useErrorBoundary();
  return thrown === undefined ? <>{children}</> : <Failure thrown={thrown} onRetry={reset} />;
}
