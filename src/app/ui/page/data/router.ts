import { computed, signal } from "@preact/signals";
import { base } from "./api.ts";

export interface Place {
  /** Below /slipway, without a slash at the end: `/runs/DIALECT/NAMESPACE/NAME`. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** With the sign, or empty. */
  readonly hash: string;
}

function read(): Place {
  const path = location.pathname.startsWith(base) ? location.pathname.slice(base.length) : "";
  return { path: path.replace(/\/+$/, "") || "/runs", query: new URLSearchParams(location.search), hash: location.hash };
}

export const place = signal<Place>(read());
/** Changes when another page is shown, not with its query. */
export const path = computed(() => place.value.path);

/** The address of a page below /slipway. */
export const href = (to: string): string => base + to;

export function navigate(to: string, options: { readonly replace?: boolean } = {}): void {
  if (href(to) === location.pathname + location.search + location.hash) return;
  if (options.replace === true) history.replaceState(history.state, "", href(to));
  else history.pushState({ isOurs: true }, "", href(to));
  place.value = read();
}

/** Changes the query of the page that is shown, in place; empty values are left out. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  navigate(place.peek().path + (text === "" ? "" : `?${text}`) + location.hash, { replace: true });
}

/** Back to where one came from, or up if the page was opened by a link. */
export function goBack(): void {
  const state = history.state as { readonly isOurs?: boolean } | null;
  if (state?.isOurs === true) history.back();
  else navigate("/runs");
}

/** Plain clicks on links within the page do not load it again. */
export function followLinks(): void {
  addEventListener("popstate", () => {
    place.value = read();
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
      return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null || link.target !== "" || link.origin !== location.origin || link.hasAttribute("download")) return;
    if (!link.pathname.startsWith(`${base}/`) || link.pathname.startsWith(`${base}/api/`)) return;
    if (link.hash !== "" && link.pathname === location.pathname) return;
    event.preventDefault();
    navigate(link.pathname.slice(base.length) + link.search + link.hash);
  });
}
