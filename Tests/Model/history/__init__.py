"""The rules of histories as a program, and worlds that attack them. See ../history_model.py and Spec/history.md."""
