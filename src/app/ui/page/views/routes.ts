import type { ComponentType } from "preact";
import type { ViewProps } from "./view-props.ts";

export interface Route {
  readonly pattern: string;
  /** Link in the frame. `keys` go there. */
  readonly nav?: { readonly label: string; readonly keys: string; readonly path: string };
  /** Absent for Runs, where most people begin: it is a part of the first script. */
  readonly load?: () => Promise<{ readonly View: ComponentType<ViewProps> }>;
}

/** All pages, the first that matches wins. A view is a module of its own that exports `View`. */
export const routes: readonly Route[] = [
  { pattern: "/runs", nav: { label: "Runs", keys: "g r", path: "/runs" } },
  { pattern: "/runs/:dialect/:namespace/:name", load: () => import("./run.tsx") },
  { pattern: "/logs/:dialect/:namespace/:name", load: () => import("./log.tsx") },
  {
    pattern: "/sources",
    nav: { label: "Sources", keys: "g o", path: "/sources" },
    load: () => import("./sources.tsx"),
  },
  { pattern: "/sources/:dialect/:namespace/:kind/:name", load: () => import("./source.tsx") },
  { pattern: "/compare/:dialect/:namespace/:name/:other", load: () => import("./compare.tsx") },
  {
    pattern: "/fleet/*",
    nav: { label: "Fleet", keys: "g f", path: "/fleet" },
    load: () => import("./fleet.tsx"),
  },
  {
    pattern: "/approvals",
    nav: { label: "Approvals", keys: "g a", path: "/approvals" },
    load: () => import("./approvals.tsx"),
  },
  { pattern: "/new", nav: { label: "Start", keys: "g n", path: "/new" }, load: () => import("./new.tsx") },
  {
    pattern: "/resources/*",
    nav: { label: "Resources", keys: "g s", path: "/resources" },
    load: () => import("./resources.tsx"),
  },
  {
    pattern: "/schedules",
    nav: { label: "Schedules", keys: "g c", path: "/schedules" },
    load: () => import("./schedules.tsx"),
  },
  {
    pattern: "/events",
    nav: { label: "Events", keys: "g e", path: "/events" },
    load: () => import("./events.tsx"),
  },
  {
    pattern: "/system",
    nav: { label: "System", keys: "g y", path: "/system" },
    load: () => import("./system.tsx"),
  },
];
