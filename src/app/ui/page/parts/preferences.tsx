import type { Signal } from "@preact/signals";
import { settings } from "../data/settings.ts";
import { Dialog } from "./dialog.tsx";

function Choice<T extends string>(props: {
  readonly label: string;
  readonly value: Signal<T>;
  readonly options: readonly (readonly [T, string])[];
}) {
  return (
    <fieldset class="choice">
      <legend>{props.label}</legend>
      {props.options.map(([value, label]) => (
        <label key={value}>
          <input
            type="radio"
            name={props.label}
            checked={props.value.value === value}
            onChange={() => {
              props.value.value = value;
            }}
          />
          {label}
        </label>
      ))}
    </fieldset>
  );
}

const zones = (): readonly string[] => ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")];

export function Preferences({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Preferences" onClose={onClose}>
      <h2>Preferences</h2>
      <Choice
        label="Theme"
        value={settings.theme}
        options={[
          ["system", "System"],
          ["light", "Light"],
          ["dark", "Dark"],
          ["contrast", "High contrast"],
        ]}
      />
      <Choice
        label="Rows"
        value={settings.density}
        options={[
          ["comfortable", "Comfortable"],
          ["compact", "Compact"],
        ]}
      />
      <Choice
        label="Single-letter shortcuts"
        value={settings.keys}
        options={[
          ["on", "On"],
          ["off", "Off"],
        ]}
      />
      <Choice
        label="Times"
        value={settings.times}
        options={[
          ["relative", "Relative: 3m ago"],
          ["absolute", "Absolute: 11-28 19:30:59"],
        ]}
      />
      <label class="field">
        Time zone
        <select
          value={settings.zone.value}
          onChange={(event) => {
            settings.zone.value = event.currentTarget.value;
          }}
        >
          <option value="">This browser's</option>
          {zones().map((zone) => (
            <option key={zone} value={zone}>
              {zone}
            </option>
          ))}
        </select>
      </label>
      <p class="dialog-buttons">
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </p>
    </Dialog>
  );
}
