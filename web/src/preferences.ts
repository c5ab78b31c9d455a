// Theme and time zone, kept in this browser.
import { useEffect, useState } from 'preact/hooks';
import type { Zone } from './text.ts';

export type Theme = 'system' | 'light' | 'dark';

interface Preferences {
  theme: Theme;
  zone: Zone;
}

const KEY = 'keda-gpu-scaler';
const listeners = new Set<() => void>();
const systemIsDark = matchMedia('(prefers-color-scheme: dark)');
let current = stored();

function stored(): Preferences {
  const otherwise: Preferences = { theme: 'system', zone: 'local' };
  try {
    const { theme, zone } = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Preferences>;
    return {
      theme: theme === 'light' || theme === 'dark' ? theme : otherwise.theme,
      zone: zone === 'utc' ? 'utc' : otherwise.zone,
    };
  } catch {
    return otherwise; // a browser without storage
  }
}

function isDark(): boolean {
  return current.theme === 'system' ? systemIsDark.matches : current.theme === 'dark';
}

function apply(): void {
  document.documentElement.dataset['theme'] = isDark() ? 'dark' : 'light';
  for (const listener of listeners) listener();
}

export function setPreferences(change: Partial<Preferences>): void {
  current = { ...current, ...change };
  try {
    localStorage.setItem(KEY, JSON.stringify(current));
  } catch {
    // kept until the page is closed
  }
  apply();
}

// Calls `listener` after each change, also when the system's theme has changed.
export function onPreferences(listener: () => void): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

export function usePreferences(): Preferences & { isDark: boolean } {
  const [state, setState] = useState(current);
  useEffect(() => onPreferences(() => setState({ ...current })), []);
  return { ...state, isDark: isDark() };
}

apply();
systemIsDark.addEventListener('change', apply);

// The value of a colour of style.css in the theme that is shown.
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
