import fc from "fast-check";

// Where a change is judged, chance is not to: the same cases for everybody. Elsewhere every run tries others.
if (process.env["CI"] !== undefined) fc.configureGlobal({ seed: 1 });
