import { signal } from "@preact/signals";
import { render } from "preact";
import type { RunSummary } from "#app/ui/wire.ts";
const x = signal<RunSummary | undefined>(undefined);
render(<p>{x.value?.name}</p>, document.body);
