// A component that is rendered again only when one of its properties is another object.
import { Component, type ComponentChild, createElement, type FunctionComponent } from 'preact';

export function memo<Props extends object>(body: FunctionComponent<Props>): FunctionComponent<Props> {
  class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      const before = this.props as Record<string, unknown>;
      return Object.entries(next).some(([key, value]) => before[key] !== value);
    }
    override render(): ComponentChild {
      return createElement(body, this.props);
    }
  }
  return Memo as unknown as FunctionComponent<Props>;
}
